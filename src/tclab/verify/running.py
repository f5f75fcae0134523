"""Processes that compile a corpus on both sides, several at a time, up to a time limit."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tclab.verify.sides import SIDES, file, save

#: How long one whole model may take on one side, in seconds.
MODEL_SECONDS = 420


@dataclass(frozen=True)
class Run:
    """What is asked for: results in `out`, `jobs` processes at a time, none after `until`
    (time.monotonic). Models have a process each, functions share them.
    """

    corpus: str
    target: str
    out: Path
    jobs: int
    until: float = float("inf")
    sides: tuple[str, ...] = SIDES


@dataclass(frozen=True)
class Batch:
    """Functions that one process compiles on one side."""

    side: str
    names: list[str]


def run_all(names: list[str], run: Run) -> None:
    """Compile what is missing in the results, as many at a time as `jobs`."""
    with ThreadPoolExecutor(run.jobs) as pool:
        list(pool.map(lambda batch: _batch(batch, run), _batches(names, run)))


def _batches(names: list[str], run: Run) -> list[Batch]:
    missing = {s: [n for n in names if not file(run.out, s, n).exists()] for s in run.sides}
    if run.corpus == "models":
        return [Batch(s, [n]) for n in names for s in run.sides if n in missing[s]]
    share = max(1, run.jobs // 2)
    batches = [Batch(s, missing[s][i::share]) for s in run.sides for i in range(share)]
    return [batch for batch in batches if batch.names]


def _batch(batch: Batch, run: Run) -> None:
    """One process for several functions; another goes on where one dies."""
    names = batch.names
    while names and time.monotonic() < run.until:
        last = _process(Batch(batch.side, names), run)
        left = [n for n in names if not file(run.out, batch.side, n).exists()]
        if left and time.monotonic() < run.until:
            save(run.out, batch.side, left[0], {"status": "crashed", "reason": last})
        names = left[1:]


def _process(batch: Batch, run: Run) -> str:
    """Compile a batch; the end of what its process wrote. It is killed when its time is over."""
    command = [sys.executable, "-m", "tclab.verify.sides"]
    command += [batch.side, run.corpus, run.target, str(run.out)]
    left = max(1.0, run.until - time.monotonic())
    limit = min(left, MODEL_SECONDS) if run.corpus == "models" else left
    try:
        done = subprocess.run(
            [*command, *batch.names],
            env=_environment(batch.side),
            capture_output=True,
            text=True,
            check=False,
            timeout=None if limit == float("inf") else limit,
        )
    except subprocess.TimeoutExpired:
        return f"not done in {limit:.0f} s"
    return (done.stderr or done.stdout)[-1500:]


def _environment(side: str) -> dict[str, str]:
    """Many processes share the cores, so each compiles in one thread; no setting changes code."""
    own = {"OMP_NUM_THREADS": "1", "TORCHINDUCTOR_COMPILE_THREADS": "1", "PYTHONHASHSEED": "0"}
    if side == "target":
        own["CUDA_VISIBLE_DEVICES"] = ""
    return {**os.environ, **own}
