"""Compile a corpus on both sides, in several processes at a time, up to a time limit."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from tclab.workshop.verify.results import SIDES, result_path, save

#: Time limit for a whole model on one side, in seconds.
MODEL_SECONDS = 420


@dataclass(frozen=True)
class ComparisonOptions:
    """The options of a comparison, and whether it was interrupted.

    Results are in `out`. `jobs` processes run at a time; no process starts after `until`
    (time.monotonic()) or after an interrupt. Each model has its own process; functions share
    processes.
    """

    corpus: str
    target: str
    out: Path
    jobs: int
    until: float = float("inf")
    sides: tuple[str, ...] = SIDES
    interrupted: threading.Event = field(default_factory=threading.Event)

    @property
    def is_over(self) -> bool:
        """Whether no more processes may start."""
        return self.interrupted.is_set() or time.monotonic() >= self.until


@dataclass(frozen=True)
class Batch:
    """Functions that one process compiles on one side."""

    side: str
    names: list[str]


def run_all(names: list[str], run: ComparisonOptions) -> None:
    """Compile the functions that have no result yet, in `run.jobs` processes at a time."""
    with ThreadPoolExecutor(run.jobs) as pool:
        try:
            list(pool.map(lambda batch: _run_batch(batch, run), _make_batches(names, run)))
        except BaseException:
            run.interrupted.set()  # without this, the pool would wait for the remaining batches
            raise


def time_products(run: ComparisonOptions) -> None:
    """Let PyTorch time the products of all the target's results while nothing else uses the GPU.

    PyTorch keeps the answers in its cache, where the GPU's side finds them.
    """
    command = [sys.executable, "-m", "tclab.workshop.verify.choices", str(run.out)]
    left = min(run.until - time.monotonic(), threading.TIMEOUT_MAX)
    with contextlib.suppress(subprocess.TimeoutExpired):
        subprocess.run(command, env=_process_variables("gpu"), check=False, timeout=max(1.0, left))


def _make_batches(names: list[str], run: ComparisonOptions) -> list[Batch]:
    missing = {s: [n for n in names if not result_path(run.out, s, n).exists()] for s in run.sides}
    if run.corpus == "models":
        return [Batch(s, [n]) for n in names for s in run.sides if n in missing[s]]
    share = max(1, run.jobs // len(run.sides))
    batches = [Batch(s, missing[s][i::share]) for s in run.sides for i in range(share)]
    return [batch for batch in batches if batch.names]


def _run_batch(batch: Batch, run: ComparisonOptions) -> None:
    """Compile a batch in a process. If the process dies, continue with the next function in a new
    process.
    """
    names = batch.names
    while names and not run.is_over:
        output = _run_process(Batch(batch.side, names), run)
        left = [n for n in names if not result_path(run.out, batch.side, n).exists()]
        if left and not run.is_over:
            save(result_path(run.out, batch.side, left[0]), {"status": "crashed", "reason": output})
        names = left[1:]


def _run_process(batch: Batch, run: ComparisonOptions) -> str:
    """Run a batch's process, kill it at its time limit, and return the end of its output."""
    left = max(1.0, run.until - time.monotonic())
    limit = min(left, MODEL_SECONDS) if run.corpus == "models" else left
    process = subprocess.Popen(
        _command(batch, run),
        env=_process_variables(batch.side),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    end = time.monotonic() + limit
    while not run.interrupted.is_set() and time.monotonic() < end:
        try:
            out, errors = process.communicate(timeout=1)
        except subprocess.TimeoutExpired:
            continue
        if process.returncode == -signal.SIGINT:  # Ctrl-C reaches this process, too
            run.interrupted.set()
        return (errors or out)[-1500:]
    process.kill()
    process.communicate()
    return f"not done in {limit:.0f} s"


def _command(batch: Batch, run: ComparisonOptions) -> list[str]:
    options = [batch.side, run.corpus, run.target, str(run.out)]
    return [sys.executable, "-m", "tclab.workshop.verify.sides", *options, *batch.names]


def _process_variables(side: str) -> dict[str, str]:
    """Return the variables of a process on one side; they do not change the generated code.

    Many processes share the cores, so each compiles in one thread. All import the same tclab.
    PyTorch's caches are off, because graphs with the same operations share one entry there. The
    kernels of an entry are named after the operators of the function that came first (zeros_like,
    new_zeros).
    """
    own = {"OMP_NUM_THREADS": "1", "TORCHINDUCTOR_COMPILE_THREADS": "1", "PYTHONHASHSEED": "0"}
    source = str(Path(__file__).resolve().parents[3])
    own |= {"TORCHINDUCTOR_FX_GRAPH_CACHE": "0", "TORCHINDUCTOR_AUTOGRAD_CACHE": "0"}
    own["PYTHONPATH"] = os.pathsep.join(filter(None, [source, os.environ.get("PYTHONPATH", "")]))
    if side == "target":
        own["CUDA_VISIBLE_DEVICES"] = ""
    return {**os.environ, **own}
