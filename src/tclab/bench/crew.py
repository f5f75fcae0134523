"""Workers: started side by side, heard, timed in turn, ended."""

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
from multiprocessing.process import BaseProcess
from typing import Any

from tclab.bench.case import Case
from tclab.bench.task import IMPORTS, Task, enter, touch

#: What of a process's variables makes a compile stay in it, and a fork safe to use CUDA.
_VARIABLES = {
    "TORCHINDUCTOR_COMPILE_THREADS": "1",
    "PYTORCH_NVML_BASED_CUDA_CHECK": "1",
    "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
    "HF_HUB_OFFLINE": "1",
}


@dataclass
class Worker:
    """A process for one case in one mode, and what it has said of itself; `step` says for which
    step of the wave it was started.
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
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def ready(self) -> bool:
        """It is warm, right, and waits to be timed."""
        return self.status == "ok"

    def hear(self) -> None:
        """Take what it says; a process that died says nothing."""
        try:
            message = self.pipe.recv()
        except (EOFError, OSError):
            self.process.join(5)
            message = {"status": "failed", "reason": f"process ended: {self.process.exitcode}"}
        self.status, self.reason = message["status"], message["reason"]
        self.facts = {**message.get("facts", {}), "beside": self.beside}

    def time(self, calls: int, limit: float) -> float | None:
        """Time of one call in µs; None, and a status, where it fails or takes too long."""
        try:
            self.pipe.send(calls)
            if not self.pipe.poll(limit):
                self.status, self.reason = "timeout", f"a stretch took more than {limit:.0f} s"
                return None
            message = self.pipe.recv()
        except (EOFError, OSError):
            self.status, self.reason = "failed", "the process ended while it was timed"
            return None
        if "us" not in message:
            self.status, self.reason = message["status"], message["reason"]
            return None
        return float(message["us"])

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


class Crew:
    """Starts workers from one process that has imported everything and compiled nothing."""

    def __init__(self, device: str, jobs: int, imports: Iterable[str], limit: float) -> None:
        self.device, self.jobs, self.limit = device, jobs, limit
        self.folder = tempfile.mkdtemp(prefix="tclab-bench-")
        os.environ.update(_VARIABLES | {IMPORTS: ",".join(imports)})
        self._context: Any = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["tclab.bench.measured.ahead"])

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
        gate = os.path.join(self.folder, "gate") if self.device == "cuda" else ""
        threads = 1 if self.device == "cuda" else os.cpu_count() or 1
        task = Task(case, mode, self.device, cache, gate, threads)
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=enter, args=(task, theirs), daemon=True)
        process.start()
        theirs.close()
        return Worker(step, case, mode, process, ours, cache, beside)

    def prepare(
        self,
        tasks: Iterable[tuple[int, Case, str]],
        until: float,
        tell: Callable[[Worker], None],
    ) -> list[Worker]:
        """Workers of all tasks that have something to say by `until` (time.monotonic()).

        Those that have not are ended, and are not in the list: they can be tried again.
        """
        waiting = deque(tasks)
        running: list[Worker] = []
        done: list[Worker] = []
        beside = min(self.jobs, len(waiting)) - 1
        while (waiting or running) and time.monotonic() < until:
            while waiting and len(running) < self.jobs:
                running.append(self.start(*waiting.popleft(), beside))
            for worker in self._heard(running):
                running.remove(worker)
                done.append(worker)
                tell(worker)
        end(running)
        return done

    def _heard(self, running: list[Worker]) -> list[Worker]:
        """Those of whom something was heard within a second, or who are over their limit."""
        heard = wait([worker.pipe for worker in running], timeout=1.0)
        speaking = [worker for worker in running if worker.pipe in heard]
        for worker in speaking:
            worker.hear()
        late = [w for w in running if time.monotonic() - w.started > self.limit]
        late = [worker for worker in late if worker not in speaking]
        for worker in late:
            worker.process.kill()
            worker.status, worker.reason = "timeout", f"not warm after {self.limit:.0f} s"
        return speaking + late
