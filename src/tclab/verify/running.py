"""Processes that compile a corpus on both sides, several at a time, up to a time limit."""

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

from tclab.verify.results import SIDES, file, save

#: How long one whole model may take on one side, in seconds.
MODEL_SECONDS = 420


@dataclass(frozen=True)
class Comparison:
    """What is asked for: results in `out`, `jobs` processes at a time, none after `until`
    (time.monotonic) or once it was interrupted. Models have a process each, functions share them.
    """

    corpus: str
    target: str
    out: Path
    jobs: int
    until: float = float("inf")
    sides: tuple[str, ...] = SIDES
    interrupted: threading.Event = field(default_factory=threading.Event)

    @property
    def over(self) -> bool:
        """Nothing more is to be started."""
        return self.interrupted.is_set() or time.monotonic() >= self.until


@dataclass(frozen=True)
class Batch:
    """Functions that one process compiles on one side."""

    side: str
    names: list[str]


def run_all(names: list[str], run: Comparison) -> None:
    """Compile what is missing in the results, as many at a time as `jobs`."""
    with ThreadPoolExecutor(run.jobs) as pool:
        try:
            list(pool.map(lambda batch: _batch(batch, run), _batches(names, run)))
        except BaseException:
            run.interrupted.set()  # or the pool would wait for all that is left
            raise


def time_products(run: Comparison) -> None:
    """Let PyTorch choose, alone on the GPU, what it chooses by timing; all that a target side in
    the results asked for. It keeps the answers in its cache, where the GPU's side finds them.
    """
    command = [sys.executable, "-m", "tclab.verify.choices", str(run.out)]
    left = min(run.until - time.monotonic(), threading.TIMEOUT_MAX)
    with contextlib.suppress(subprocess.TimeoutExpired):
        subprocess.run(command, env=_environment("gpu"), check=False, timeout=max(1.0, left))


def _batches(names: list[str], run: Comparison) -> list[Batch]:
    missing = {s: [n for n in names if not file(run.out, s, n).exists()] for s in run.sides}
    if run.corpus == "models":
        return [Batch(s, [n]) for n in names for s in run.sides if n in missing[s]]
    share = max(1, run.jobs // 2)
    batches = [Batch(s, missing[s][i::share]) for s in run.sides for i in range(share)]
    return [batch for batch in batches if batch.names]


def _batch(batch: Batch, run: Comparison) -> None:
    """One process for several functions; another goes on where one dies."""
    names = batch.names
    while names and not run.over:
        last = _process(Batch(batch.side, names), run)
        left = [n for n in names if not file(run.out, batch.side, n).exists()]
        if left and not run.over:
            save(file(run.out, batch.side, left[0]), {"status": "crashed", "reason": last})
        names = left[1:]


def _process(batch: Batch, run: Comparison) -> str:
    """Compile a batch; the end of what its process wrote. It is killed when its time is over."""
    left = max(1.0, run.until - time.monotonic())
    limit = min(left, MODEL_SECONDS) if run.corpus == "models" else left
    process = subprocess.Popen(
        _command(batch, run),
        env=_environment(batch.side),
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
        if process.returncode == -signal.SIGINT:  # Ctrl-C is sent to it, too
            run.interrupted.set()
        return (errors or out)[-1500:]
    process.kill()
    process.communicate()
    return f"not done in {limit:.0f} s"


def _command(batch: Batch, run: Comparison) -> list[str]:
    options = [batch.side, run.corpus, run.target, str(run.out)]
    return [sys.executable, "-m", "tclab.verify.sides", *options, *batch.names]


def _environment(side: str) -> dict[str, str]:
    """Many processes share the cores, so each compiles in one thread; no setting changes code.
    They find tclab where this process found it.
    """
    own = {"OMP_NUM_THREADS": "1", "TORCHINDUCTOR_COMPILE_THREADS": "1", "PYTHONHASHSEED": "0"}
    source = str(Path(__file__).resolve().parents[2])
    own["PYTHONPATH"] = os.pathsep.join(filter(None, [source, os.environ.get("PYTHONPATH", "")]))
    if side == "target":
        own["CUDA_VISIBLE_DEVICES"] = ""
    return {**os.environ, **own}
