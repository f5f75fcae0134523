"""The worker processes: started side by side, heard, timed in turn, ended."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import shutil
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerContext, SpawnContext
from multiprocessing.process import BaseProcess

from tclab.bench.case import Case
from tclab.bench.entry import enter, touch
from tclab.bench.rows import Facts
from tclab.bench.task import IMPORTS, Answer, Task

#: The worker's side, by name since this one does without torch: its function, and what the process
#: that workers are forked from imports.
WORK, PRELOAD = "tclab.bench.measured.worker.work", "tclab.bench.measured.preload"

#: What of a process's variables makes a compile stay in it, and a fork safe to use CUDA.
_VARIABLES = {
    "TORCHINDUCTOR_COMPILE_THREADS": "1",
    "PYTORCH_NVML_BASED_CUDA_CHECK": "1",
    "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
    "HF_HUB_OFFLINE": "1",
}


@dataclass
class Worker:
    """A process for one case in one mode, and what it has sent of itself; `step` says for which
    step of the batch it was started.
    """

    step: int
    case: Case
    mode: str
    process: BaseProcess
    pipe: Connection
    cache: str
    beside: int
    started: float = field(default_factory=time.monotonic)
    status: str = ""
    reason: str = ""
    facts: Facts = field(default_factory=Facts)

    @property
    def ready(self) -> bool:
        """It is warm, right, and waits to be timed."""
        return self.status == "ok"

    def receive(self) -> None:
        """Take what it sends; a process that died sends nothing."""
        try:
            message: Answer = self.pipe.recv()
        except (EOFError, OSError):
            self.process.join(5)
            message = {"status": "failed", "reason": f"process ended: {self.process.exitcode}"}
        self.status, self.reason = message["status"], message["reason"]
        self.facts = {**message.get("facts", Facts()), "beside": self.beside}

    def time(self, calls: int, limit: float) -> float | None:
        """Time of one call in µs; None, and a status, where it fails or takes too long."""
        try:
            self.pipe.send(calls)
            if not self.pipe.poll(limit):
                self.status, self.reason = "timeout", f"a stretch took more than {limit:.0f} s"
                return None
            message: Answer = self.pipe.recv()
        except (EOFError, OSError):
            self.status, self.reason = "failed", "the process ended while it was timed"
            return None
        if "us" not in message:
            self.status, self.reason = message["status"], message["reason"]
            return None
        return message["us"]

    def rest(self) -> None:
        """Let it give back the memory it does not need between two stretches."""
        if self.ready:
            with contextlib.suppress(OSError):
                self.pipe.send(0)


def end(workers: Sequence[Worker]) -> None:
    """End the processes together, since a GPU takes its time over each, with their caches."""
    for worker in workers:
        worker.process.kill()
    for worker in workers:
        worker.process.join(10)
        worker.pipe.close()
        shutil.rmtree(worker.cache, ignore_errors=True)


class WorkerPool:
    """Starts workers from one process that has imported everything and compiled nothing."""

    def __init__(self, device: str, jobs: int, imports: Iterable[str], limit: float) -> None:
        self.device, self.jobs, self.limit = device, jobs, limit
        self.folder = tempfile.mkdtemp(prefix="tclab-bench-")
        os.environ.update(_VARIABLES | {IMPORTS: ",".join(imports)})
        self._context: ForkServerContext | SpawnContext = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload([PRELOAD])

    def choose_start(self) -> None:
        """Fork from a process that has imported all, unless a fork of it cannot use the device."""
        if self.device != "cuda":
            return
        probe = self._context.Process(target=touch, daemon=True)
        probe.start()
        probe.join(120)
        if probe.exitcode != 0:
            self._context = multiprocessing.get_context("spawn")

    def close(self) -> None:
        """Remove what the workers left on the disk."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self, step: int, case: Case, mode: str, beside: int) -> Worker:
        """A worker for a case in a mode, beside so many others that work at the same time."""
        cache = tempfile.mkdtemp(dir=self.folder)
        lock = os.path.join(self.folder, "lock") if self.device == "cuda" else ""
        threads = 1 if self.device == "cuda" else os.cpu_count() or 1
        task = Task(case, mode, self.device, cache, lock, threads)
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=enter, args=(WORK, task, theirs), daemon=True)
        process.start()
        theirs.close()
        return Worker(step, case, mode, process, ours, cache, beside)

    def prepare(
        self,
        tasks: Iterable[tuple[int, Case, str]],
        until: float,
        report: Callable[[Worker], None],
    ) -> list[Worker]:
        """The workers that are warm, or have failed, by `until` (time.monotonic()), one a task.

        The others are ended and are not in the list: they can be tried again.
        """
        waiting = deque(tasks)
        running: list[Worker] = []
        done: list[Worker] = []
        beside = min(self.jobs, len(waiting)) - 1
        while (waiting or running) and time.monotonic() < until:
            while waiting and len(running) < self.jobs:
                running.append(self.start(*waiting.popleft(), beside))
            for worker in self._done(running):
                running.remove(worker)
                done.append(worker)
                report(worker)
        end(running)
        return done

    def _done(self, running: list[Worker]) -> list[Worker]:
        """Those that sent something within a second, or are over their limit."""
        ready = wait([worker.pipe for worker in running], timeout=1.0)
        answered = [worker for worker in running if worker.pipe in ready]
        for worker in answered:
            worker.receive()
        late = [w for w in running if time.monotonic() - w.started > self.limit]
        late = [worker for worker in late if worker not in answered]
        for worker in late:
            worker.process.kill()
            worker.status, worker.reason = "timeout", f"not warm after {self.limit:.0f} s"
        return answered + late
