"""Start worker processes side by side, receive their answers, time them, and end them."""

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

from tclab.workshop.bench.case import Case
from tclab.workshop.bench.entry import check_gpu, run_in_process
from tclab.workshop.bench.rows import Facts
from tclab.workshop.bench.task import IMPORTS, Answer, Task

#: The names of the function that a worker runs, and of the module that the process imports from
#: which workers are forked. They are names because this process does not import torch.
WORK, PRELOAD = (
    "tclab.workshop.bench.measured.worker.run_worker",
    "tclab.workshop.bench.measured.preload",
)

#: Variables that keep a compile in its own process, and let a forked process use CUDA.
_VARIABLES = {
    "TORCHINDUCTOR_COMPILE_THREADS": "1",
    "PYTORCH_NVML_BASED_CUDA_CHECK": "1",
    "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
    "HF_HUB_OFFLINE": "1",
}


@dataclass
class Worker:
    """A process for one case in one mode, with the status, reason and facts that it has sent.

    `step` is the index of its step in the batch. `neighbours` is the number of workers that were
    prepared at the same time.
    """

    step: int
    case: Case
    mode: str
    process: BaseProcess
    pipe: Connection
    cache: str
    neighbours: int
    started: float = field(default_factory=time.monotonic)
    status: str = ""
    reason: str = ""
    facts: Facts = field(default_factory=Facts)

    @property
    def is_ready(self) -> bool:
        """Whether the worker is warm, has a right result, and waits to be timed."""
        return self.status == "ok"

    def receive(self) -> None:
        """Receive the worker's answer. If the worker's process died, set the status failed."""
        try:
            message: Answer = self.pipe.recv()
        except (EOFError, OSError):
            self.process.join(5)
            message = {"status": "failed", "reason": f"process ended: {self.process.exitcode}"}
        self.status, self.reason = message["status"], message["reason"]
        self.facts = {**message.get("facts", Facts()), "beside": self.neighbours}

    def time_calls(self, calls: int, limit: float) -> float | None:
        """Return the time of one call in µs; set a status and return None if that fails."""
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

    def free_memory(self) -> None:
        """Tell the worker to free the memory that it does not need until it is timed again."""
        if self.is_ready:
            with contextlib.suppress(OSError):
                self.pipe.send(0)


def end_workers(workers: Sequence[Worker]) -> None:
    """End the processes together, since each takes a while on a GPU; remove their caches."""
    for worker in workers:
        worker.process.kill()
    for worker in workers:
        worker.process.join(10)
        worker.pipe.close()
        shutil.rmtree(worker.cache, ignore_errors=True)


class WorkerPool:
    """Starts workers as forks of a process that has imported all modules and compiled nothing."""

    def __init__(self, device: str, jobs: int, imports: Iterable[str], limit: float) -> None:
        self.device, self.jobs, self.limit = device, jobs, limit
        self.folder = tempfile.mkdtemp(prefix="tclab-bench-")
        os.environ.update(_VARIABLES | {IMPORTS: ",".join(imports)})
        self._context: ForkServerContext | SpawnContext = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload([PRELOAD])

    def choose_start_method(self) -> None:
        """Choose to start new processes if a fork cannot use the GPU, and else to fork them."""
        if self.device != "cuda":
            return
        probe = self._context.Process(target=check_gpu, daemon=True)
        probe.start()
        probe.join(120)
        if probe.exitcode != 0:
            self._context = multiprocessing.get_context("spawn")

    def close(self) -> None:
        """Remove the files of the workers."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self, step: int, case: Case, mode: str, neighbours: int) -> Worker:
        """Start a worker for a case in a mode, next to `neighbours` others."""
        cache = tempfile.mkdtemp(dir=self.folder)
        lock = os.path.join(self.folder, "lock") if self.device == "cuda" else ""
        threads = 1 if self.device == "cuda" else os.cpu_count() or 1
        task = Task(case, mode, self.device, cache, lock, threads)
        ours, theirs = self._context.Pipe()
        process = self._context.Process(
            target=run_in_process, args=(WORK, task, theirs), daemon=True
        )
        process.start()
        theirs.close()
        return Worker(step, case, mode, process, ours, cache, neighbours)

    def prepare(
        self,
        tasks: Iterable[tuple[int, Case, str]],
        deadline: float,
        report: Callable[[Worker], None],
    ) -> list[Worker]:
        """Start a worker for each task; return the workers that are warm or have failed by
        `deadline`.

        The deadline is a time.monotonic(). The other workers are ended and not returned, so that
        their tasks can be tried again.
        """
        waiting = deque(tasks)
        running: list[Worker] = []
        done: list[Worker] = []
        neighbours = min(self.jobs, len(waiting)) - 1
        while (waiting or running) and time.monotonic() < deadline:
            while waiting and len(running) < self.jobs:
                running.append(self.start(*waiting.popleft(), neighbours))
            for worker in self._collect_finished(running):
                running.remove(worker)
                done.append(worker)
                report(worker)
        end_workers(running)
        return done

    def _collect_finished(self, workers: list[Worker]) -> list[Worker]:
        """Wait up to a second; return the workers that have answered or have exceeded their time
        limit.
        """
        ready = wait([worker.pipe for worker in workers], timeout=1.0)
        answered = [worker for worker in workers if worker.pipe in ready]
        for worker in answered:
            worker.receive()
        late = [w for w in workers if time.monotonic() - w.started > self.limit]
        late = [worker for worker in late if worker not in answered]
        for worker in late:
            worker.process.kill()
            worker.status, worker.reason = "timeout", f"not warm after {self.limit:.0f} s"
        return answered + late
