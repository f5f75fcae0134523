"""Compare functions each in a process of its own, for ``python -m benchmarks.agreement``.

The processes are forked from one that has compiled a function already: a crash or an endless
compile costs one function.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

#: Compares the function of a name; None if there is no such function.
Compare = Callable[[str], dict[str, Any] | None]


def rows(
    names: Sequence[str], compare: Compare, jobs: int, limit: int, until: float
) -> Iterator[dict[str, Any]]:
    """Compare the functions, `jobs` at one time, and yield a row for each that there is. One that
    takes more than `limit` seconds is ended. After the time `until` none is begun.
    """
    _warm_up()
    waiting, running = list(reversed(names)), dict[int, str]()
    with tempfile.TemporaryDirectory() as folder:
        while running or (waiting and time.monotonic() < until):
            while waiting and len(running) < jobs and time.monotonic() < until:
                name = waiting.pop()
                running[_fork(name, compare, Path(folder), limit)] = name
            pid, status = os.wait()
            row = _read(running.pop(pid), Path(folder, str(pid)), status)
            if row is not None:
                yield row


def _warm_up() -> None:
    """Compile a function, so that the forked processes need not import and set up the compiler.

    It has no backward: autograd's threads, which a CUDA build starts even without a GPU, do not
    survive a fork. Neither do the threads that share out the compiles of kernels where there are
    many cores: the forked processes would wait for them for ever.
    """
    import torch
    import torch._inductor.config

    torch._inductor.config.compile_threads = 1
    for name in ("tclab.explain", "tclab.capturing.agreement"):
        importlib.import_module(name)
    torch.compile(lambda x: x.sin() + 1)(torch.ones(4))
    torch.compiler.reset()


def _fork(name: str, compare: Compare, folder: Path, limit: int) -> int:
    """Compare a function in a new process, which writes its row to the file of its number; return
    the number.
    """
    if pid := os.fork():
        return pid
    try:
        signal.alarm(limit)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        (folder / str(os.getpid())).write_text(json.dumps(compare(name)))
    finally:
        os._exit(0)


def _read(name: str, file: Path, status: int) -> dict[str, Any] | None:
    """Return the row that a process wrote; None if there is no such function."""
    if file.exists():
        row: dict[str, Any] | None = json.loads(file.read_text())
        return row
    ended = signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else "an error"
    return {"name": name, "verdict": "ended", "words": f"its process ended with {ended}"}
