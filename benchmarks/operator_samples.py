"""Compare the samples of PyTorch's operator database on the CPU, for ``python -m
benchmarks.agreement operators``.

The order is random and the same for every PyTorch, so that what is compared before the time is over
is a fair sample. Each sample has a process of its own, which is forked from one that has compiled a
function already: a crash or an endless compile costs one sample.
"""

from __future__ import annotations

import json
import os
import random
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def names() -> list[str]:
    """Return the names of the samples, such as ``operators/add-float32-0``, in a random order."""
    from tclab.workshop.catalog import operators

    return sorted(operators.list_cpu_names(), key=lambda name: random.Random(name).random())


def rows(names: list[str], jobs: int, limit: int, until: float) -> Iterator[dict[str, Any]]:
    """Compare the samples, `jobs` at one time, and yield a row for each that the database has. One
    that takes more than `limit` seconds is ended. After the time `until` none is begun.
    """
    _warm_up()
    waiting, running = list(reversed(names)), dict[int, str]()
    with tempfile.TemporaryDirectory() as folder:
        while running or (waiting and time.monotonic() < until):
            while waiting and len(running) < jobs and time.monotonic() < until:
                name = waiting.pop()
                running[_fork(name, Path(folder), limit)] = name
            pid, status = os.wait()
            row = _read(running.pop(pid), Path(folder, str(pid)), status)
            if row is not None:
                yield row


def _warm_up() -> None:
    """Compile a function, so that the forked processes need not import and set up the compiler.

    It has no backward: autograd's threads, which a CUDA build starts even without a GPU, do not
    survive a fork.
    """
    import torch

    torch.compile(lambda x: x.sin() + 1)(torch.ones(4))
    torch.compiler.reset()


def _fork(name: str, folder: Path, limit: int) -> int:
    """Compare a sample in a new process, which writes its row to the file of its number; return the
    number.
    """
    if pid := os.fork():
        return pid
    try:
        signal.alarm(limit)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        (folder / str(os.getpid())).write_text(json.dumps(_compare(name)))
    finally:
        os._exit(0)


def _compare(name: str) -> dict[str, Any] | None:
    from benchmarks.agreement import compare_case, compare_example
    from tclab.workshop.catalog import operators

    example = operators.find_on_cpu(name)
    return None if example is None else compare_case((name, lambda: compare_example(example)))


def _read(name: str, file: Path, status: int) -> dict[str, Any] | None:
    """Return the row that a process wrote; None if the database has no such sample."""
    if file.exists():
        row: dict[str, Any] | None = json.loads(file.read_text())
        return row
    ended = signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else "an error"
    return {"name": name, "verdict": "ended", "words": f"its process ended with {ended}"}
