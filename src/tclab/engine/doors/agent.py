"""Runs jobs on a worker's side, in the Python and under the tclab that they came with.

    python -m tclab.engine.doors.agent TREE CACHE WIDTH MODE

Its keeper (`box`) writes a line of JSON for each job, and one for each job that nobody waits for
any more. It writes a line when a job starts, and one with the file that has its answer. When stdin
ends, every snippet is ended.

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

from tclab import machine, paths
from tclab.engine import events, failures
from tclab.engine.doors import offers, protocol
from tclab.engine.doors.protocol import Answer, JobData
from tclab.engine.here import Here
from tclab.engine.job import Job
from tclab.engine.plan import Plan
from tclab.engine.pool import Pool
from tclab.engine.worker.protocol import Ended
from tclab.errors import TclabError
from tclab.model import Run
from tclab.project import project_root
from tclab.store.live import Store


@dataclass
class Asked:
    """A job that came through the door."""

    number: int
    answer: Path
    environment: str
    job: Job
    cancelled: bool = False


@dataclass
class Agent(Here):
    """The loop of this machine's pool, fed from stdin."""

    asked: dict[str, Asked] = field(default_factory=dict)  # by the snippet's name
    later: list[tuple[int, JobData, Path]] = field(default_factory=list)  # of one that runs now
    _input: bytes = b""

    def serve(self, pool: Pool) -> None:
        """Work until stdin ends."""
        while self._listen(0.0 if self.busy or self.later else None):
            self._admit()
            self._end_cancelled()
            try:
                self.turn(pool, wake=0)
            except (TclabError, OSError) as error:
                self._in_trouble(error)

    # ------------------------------------------------------------------ what is asked

    def _listen(self, seconds: float | None) -> bool:
        """Read what there is; False at the end of stdin."""
        if not select.select([0], [], [], seconds)[0]:
            return True
        chunk = os.read(0, 1 << 20)
        *lines, self._input = (self._input + chunk).split(b"\n")
        for line in lines:
            self._obey(json.loads(line))
        return bool(chunk)

    def _obey(self, line: dict[str, object]) -> None:
        if "cancel" not in line:
            number, answer = cast(int, line["id"]), Path(str(line["answer"]))
            self.later.append((number, cast(JobData, line["job"]), answer))
            return
        self.later = [one for one in self.later if one[0] != line["cancel"]]
        for one in self.asked.values():
            if one.number == line["cancel"]:
                one.cancelled = True

    def _admit(self) -> None:
        """Take what does not run already: one snippet runs once at a time."""
        waiting, self.later = self.later, []
        for number, data, answer in waiting:
            if data["snippet"]["name"] in self.asked:
                self.later.append((number, data, answer))
            else:
                self._add(number, data, answer)

    def _add(self, number: int, data: JobData, answer: Path) -> None:
        try:
            snippet = protocol.snippet(data["snippet"], self.plan.root)
            why = self._unfit(data) or ", ".join(
                f"no {need}" for need in sorted(machine.missing_needs(snippet))
            )
        except (TclabError, OSError, KeyError, TypeError, ValueError) as error:
            why = f"the job cannot be read: {error}"
        if why:
            _answer(number, answer, Answer("refused", why))
            return
        job = self.add(snippet)
        job.environment = data["environment"]
        self.asked[job.name] = Asked(number, answer, data["environment"], job)
        self.todo.sort(key=lambda each: each.solo)

    def _unfit(self, data: JobData) -> str:
        here = self.plan.here
        if data["protocol"] != protocol.PROTOCOL:
            return f"it is of protocol {data['protocol']}, and this tclab's is {protocol.PROTOCOL}"
        if data["torch"] and not offers.begins(here.torch, data["torch"]):
            return f"PyTorch {here.torch} is not {data['torch']}"
        try:
            machine.check_torch()
        except TclabError as error:
            return f"{error.place}: {error.cause}"
        return ""

    # ------------------------------------------------------------------ what comes of it

    def ended(self, job: Job, report: Ended) -> None:
        """As at home; one that nobody waits for is dropped."""
        if self.asked[job.name].cancelled:
            job.collect(report)
            job.release()
            self._answered(job.name, Answer("cancelled"))
        else:
            super().ended(job, report)

    def heard(self, event: events.Event) -> None:
        """Tell the box of what starts."""
        if isinstance(event, events.Started):
            _say({"started": self.asked[event.snippet].number})

    def answer(self, run: Run) -> None:
        """A run is there: instead of keeping it."""
        full = failures.no_room(self.asked[run.snippet].job.snippet)
        if run.failure is not None and run.failure.message == full.message:
            self._answered(run.snippet, Answer("trouble", full.message))
            return
        self._answered(run.snippet, Answer("run", run=protocol.packed(run)))

    def _answered(self, name: str, answer: Answer) -> None:
        one = self.asked.pop(name)
        self.done.pop(name, None)
        _answer(one.number, one.answer, answer)

    def _end_cancelled(self) -> None:
        """End what runs for nobody. Its keeper ends all that it started."""
        for one in [one for one in self.asked.values() if one.cancelled]:
            if one.job in self.todo:
                self.todo.remove(one.job)
                self._answered(one.job.name, Answer("cancelled"))
            elif pid := _read(one.job.folder / "pid"):
                _kill(int(pid))

    def _in_trouble(self, error: Exception) -> None:
        """This machine cannot run anything now: whatever waits is to go elsewhere."""
        running = {job.name for job in self.running.values()}
        self.todo.clear()
        for name in [name for name in self.asked if name not in running]:
            self._answered(name, Answer("trouble", str(error)))


def _answer(number: int, path: Path, answer: Answer) -> None:
    """Leave an answer; where the disk is full, that it is."""
    try:
        path.write_bytes(answer.encoded())
    except OSError as error:
        path.unlink(missing_ok=True)
        _say({"answered": number, "trouble": f"no space is left for its answer: {error.strerror}"})
        return
    _say({"answered": number})


def _say(line: dict[str, object]) -> None:
    os.write(_out, json.dumps(line).encode() + b"\n")


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except OSError:
        time.sleep(0.01)  # it is gone: its end will be told


_out = 1


def main(argv: list[str]) -> None:
    """Serve one tree."""
    global _out
    _out = os.dup(1)
    os.dup2(2, 1)  # nothing else may come between the lines
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's Ctrl-C is the client's to act on
    root, cache, width, mode = Path(argv[0]), Path(argv[1]), int(argv[2]), argv[3]
    paths.settle_temporary()
    plan = Plan(project_root(root), Store(Path.cwd() / "store"))
    work = Agent(plan, "here", events.silent, True, lambda run: None, width=width)
    work.keep, work.on_event = work.answer, work.heard
    with Pool(cache, warm=mode == "warm") as pool:
        work.serve(pool)


if __name__ == "__main__":
    main(sys.argv[1:])
