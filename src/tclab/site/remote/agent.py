"""Run jobs in a process of the worker, with the requested Python and the client's tclab.

    python -m tclab.site.remote.agent TREE CACHE WIDTH MODE

The host (`worker_host`) writes a line of JSON for each job, and one to cancel a job. The agent
writes a line when a job starts, and another when the file with its answer is complete. When stdin
ends, the agent ends all snippets.

    → {"id": 7, "job": {…}, "answer": "/tmp/…/7"}
    → {"cancel": 7}
    ← {"started": 7}
    ← {"answered": 7}
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from tclab.errors import TclabError
from tclab.model import Run
from tclab.site.engine import events, failures
from tclab.site.engine.job import Job
from tclab.site.engine.local_work import LocalWork
from tclab.site.engine.plan import Plan
from tclab.site.engine.pool import Pool
from tclab.site.engine.worker.protocol import Ended
from tclab.site.remote import announcements, protocol
from tclab.site.remote.protocol import Answer, JobData
from tclab.site.store.local_runs import Store
from tclab.system import machine, paths
from tclab.system.project import project_root


@dataclass
class AcceptedJob:
    """A job that the agent accepted: its number at the host, and the file for its answer."""

    number: int
    answer: Path
    environment: str
    job: Job
    cancelled: bool = False


@dataclass
class Agent(LocalWork):
    """The loop that runs jobs on this machine; it reads jobs from stdin instead of a list of
    snippets.
    """

    accepted: dict[str, AcceptedJob] = field(default_factory=dict)  # snippet's name → its job
    deferred: list[tuple[int, JobData, Path]] = field(
        default_factory=list
    )  # jobs that wait for an earlier job of their snippet
    _input: bytes = b""

    def serve(self, pool: Pool) -> None:
        """Run jobs until stdin ends."""
        while self._listen(0.0 if self.busy or self.deferred else None):
            self._admit()
            self._end_cancelled()
            try:
                self.advance(pool, wake=0)
            except (TclabError, OSError) as error:
                self._return_waiting(error)

    # ------------------------------------------------------------------ input

    def _listen(self, seconds: float | None) -> bool:
        """Wait for input at most `seconds`, and handle it; return False at the end of stdin."""
        if not select.select([0], [], [], seconds)[0]:
            return True
        chunk = os.read(0, 1 << 20)
        *lines, self._input = (self._input + chunk).split(b"\n")
        for line in lines:
            self._handle_line(json.loads(line))
        return bool(chunk)

    def _handle_line(self, line: dict[str, object]) -> None:
        if "cancel" not in line:
            number, answer = cast(int, line["id"]), Path(str(line["answer"]))
            self.deferred.append((number, cast(JobData, line["job"]), answer))
            return
        self.deferred = [waiting for waiting in self.deferred if waiting[0] != line["cancel"]]
        for accepted_job in self.accepted.values():
            if accepted_job.number == line["cancel"]:
                accepted_job.cancelled = True

    def _admit(self) -> None:
        """Accept the waiting jobs, except jobs whose snippet is running now."""
        waiting, self.deferred = self.deferred, []
        for number, data, answer in waiting:
            if data["snippet"]["name"] in self.accepted:
                self.deferred.append((number, data, answer))
            else:
                self._add(number, data, answer)

    def _add(self, number: int, data: JobData, answer: Path) -> None:
        try:
            snippet = protocol.decode_snippet(data["snippet"], self.plan.root)
            why = self._reason_unfit(data) or ", ".join(
                f"no {need}" for need in sorted(machine.missing_needs(snippet))
            )
        except (TclabError, OSError, KeyError, TypeError, ValueError) as error:
            why = f"the job cannot be read: {error}"
        if why:
            _write_answer(number, answer, Answer("refused", why))
            return
        job = self.add(snippet)
        job.environment = data["environment"]
        self.accepted[job.name] = AcceptedJob(number, answer, data["environment"], job)
        self.todo.sort(key=lambda each: each.solo)

    def _reason_unfit(self, data: JobData) -> str:
        here = self.plan.here
        if data["protocol"] != protocol.PROTOCOL:
            return f"it is of protocol {data['protocol']}, and this tclab's is {protocol.PROTOCOL}"
        if data["torch"] and not announcements.version_matches(here.torch, data["torch"]):
            return f"PyTorch {here.torch} is not {data['torch']}"
        try:
            machine.check_torch()
        except TclabError as error:
            return f"{error.place}: {error.cause}"
        return ""

    # ------------------------------------------------------------------ output

    def handle_end(self, job: Job, report: Ended) -> None:
        """Handle a job's end as for a local job; drop the result of a cancelled job."""
        if self.accepted[job.name].cancelled:
            job.collect(report)
            job.release()
            self._send_answer(job.name, Answer("cancelled"))
        else:
            super().handle_end(job, report)

    def report_start(self, event: events.Event) -> None:
        """Tell the host that a job starts."""
        if isinstance(event, events.Started):
            _write_line({"started": self.accepted[event.snippet].number})

    def answer(self, run: Run) -> None:
        """Send the run to the host, in place of keeping it in a store."""
        full = failures.disk_full(self.accepted[run.snippet].job.snippet)
        if run.failure is not None and run.failure.message == full.message:
            self._send_answer(run.snippet, Answer("trouble", full.message))
            return
        self._send_answer(run.snippet, Answer("run", run=protocol.pack_run(run)))

    def _send_answer(self, name: str, answer: Answer) -> None:
        accepted_job = self.accepted.pop(name)
        self.done.pop(name, None)
        _write_answer(accepted_job.number, accepted_job.answer, answer)

    def _end_cancelled(self) -> None:
        """End all cancelled jobs; a snippet's keeper also ends the processes that it started."""
        for accepted in [each for each in self.accepted.values() if each.cancelled]:
            if accepted.job in self.todo:
                self.todo.remove(accepted.job)
                self._send_answer(accepted.job.name, Answer("cancelled"))
            elif pid := _read_if_there(accepted.job.folder / "pid"):
                _kill(int(pid))

    def _return_waiting(self, error: Exception) -> None:
        """Return all waiting jobs to the client, because this machine cannot run any job now."""
        running = {job.name for job in self.running.values()}
        self.todo.clear()
        for name in [name for name in self.accepted if name not in running]:
            self._send_answer(name, Answer("trouble", str(error)))


def _write_answer(number: int, path: Path, answer: Answer) -> None:
    """Write an answer to its file. Tell the host that the answer is complete, or that the disk is
    full.
    """
    try:
        path.write_bytes(answer.encode())
    except OSError as error:
        path.unlink(missing_ok=True)
        _write_line(
            {"answered": number, "trouble": f"no space is left for its answer: {error.strerror}"}
        )
        return
    _write_line({"answered": number})


def _write_line(line: dict[str, object]) -> None:
    os.write(_output_fd, json.dumps(line).encode() + b"\n")


def _read_if_there(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except OSError:
        time.sleep(0.01)  # the keeper has ended already, which the pool will report


_output_fd = 1  # the file descriptor to which `_write_line` writes


def main(argv: list[str]) -> None:
    """Run jobs of one tree."""
    global _output_fd
    _output_fd = os.dup(1)
    os.dup2(2, 1)  # other output goes to stderr, so that the host reads only our lines
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # on Ctrl-C the client decides what ends
    root, cache, width, mode = Path(argv[0]), Path(argv[1]), int(argv[2]), argv[3]
    paths.set_temporary_folder()
    plan = Plan(project_root(root), Store(Path.cwd() / "store"))
    work = Agent(plan, "here", events.ignore_event, True, lambda run: None, width=width)
    work.keep, work.on_event = work.answer, work.report_start
    with Pool(cache, warm=mode == "warm") as pool:
        work.serve(pool)


if __name__ == "__main__":
    main(sys.argv[1:])
