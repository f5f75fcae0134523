"""Check, with PyTorch alone, that a case's file has the fault that its head names."""

from __future__ import annotations

import copy
import importlib.util
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

from benchmarks.cases import PROCESSES, Case

#: A function, and the arguments of its calls.
LoadedCalls = tuple[Callable[..., Any], list[tuple[Any, ...]]]


class Program:
    """A case's file: imports it, and compiles its function."""

    def __init__(self, case: Case) -> None:
        self.case, self.path = case, case.path

    def load(self) -> LoadedCalls:
        """Import the file anew; return its function and the arguments of its calls."""
        spec = importlib.util.spec_from_file_location(self.path.stem, self.path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[self.path.stem] = module  # Dynamo looks there for a class's methods
        spec.loader.exec_module(module)
        function, calls = getattr(module, self.case.explained[0]), module.example_inputs()
        if isinstance(function, type):
            function = function()
        return function, calls if isinstance(calls, list) else [calls]

    def load_compiled(self, **options: Any) -> LoadedCalls:
        """Import the file anew, and compile its function unless the file itself does."""
        import torch

        function, calls = self.load()
        if not self.case.compiles_itself:
            function = torch.compile(function, **options)
        return function, calls


def has_symptom(program: Program) -> tuple[bool, str]:
    """Return whether the fault shows, and what was observed, in a process of its own."""
    receiver, sender = PROCESSES.Pipe(duplex=False)
    child = PROCESSES.Process(target=_answer, args=(program, sender))
    child.start()
    sender.close()
    try:
        return receiver.recv()
    except EOFError:
        return False, "the process died"
    finally:
        child.join()


def _answer(program: Program, sender: Any) -> None:
    word, _, wanted = program.case.symptom.partition(" ")
    try:
        sender.send(_SEEN[word](program, wanted))
    except Exception as error:
        sender.send((False, f"{type(error).__name__}: {error}"[:200]))


def _differs(program: Program, _: str) -> tuple[bool, str]:
    """Return whether results differ from those of the case's file in eager, for the same inputs and
    draws, call after call; a cache's draws are the file's fault.
    """
    import torch

    torch.manual_seed(0)
    function, calls = Program(program.case).load()
    eager = [_leaves(function(*args)) for args in calls]
    torch.manual_seed(0)
    function, calls = program.load_compiled(options={"fallback_random": True})
    compiled = [_leaves(function(*args)) for args in calls]
    far = [
        not torch.allclose(a.double(), b.double(), rtol=1e-3, atol=1e-4)
        for a, b in zip(chain.from_iterable(eager), chain.from_iterable(compiled))
    ]
    return any(far), f"{sum(far)} of {len(far)} results differ"


def _leaves(value: Any) -> list[Any]:
    from torch.utils._pytree import tree_leaves

    return [leaf.detach().clone() for leaf in tree_leaves(value) if hasattr(leaf, "detach")]


def _frames(program: Program, wanted: str) -> tuple[bool, str]:
    total, _ = _counted(program)
    return total == int(wanted), f"{total} frames"


def _frames_ok(program: Program, wanted: str) -> tuple[bool, str]:
    total, ok = _counted(program)
    return ok == int(wanted) and total > 0, f"{total} frames, {ok} ok"


def _compiles(program: Program, wanted: str) -> tuple[bool, str]:
    total, ok = _counted(program, backend="eager")
    return ok == int(wanted), f"{total} frames, {ok} ok"


def _counted(program: Program, **options: Any) -> tuple[int, int]:
    from torch._dynamo.utils import counters

    run, calls = program.load_compiled(**options)
    for args in calls:
        run(*args)
    return counters["frames"]["total"], counters["frames"]["ok"]


def _raises(program: Program, wanted: str) -> tuple[bool, str]:
    if not program.case.compiles_itself:
        function, calls = program.load()
        function(*copy.deepcopy(calls[0]))  # eager raises nothing
    try:
        run, calls = program.load_compiled()
        run(*calls[0])
    except Exception as error:
        return wanted in str(error), f"{type(error).__name__}: {str(error)[:120]!r}"
    return False, "nothing was raised"


def _memory(program: Program, wanted: str) -> tuple[bool, str]:
    import ctypes

    # M_MMAP_THRESHOLD: freed memory goes back to the system at once.
    ctypes.CDLL(None).mallopt(-3, 1 << 16)
    peaks = []
    for run, calls in (program.load(), program.load_compiled()):
        for _ in range(2):
            run(*calls[0]).backward()
        with _watched() as peak:
            run(*calls[0]).backward()
        peaks.append(peak[0] / 2**20)
    eager, compiled = peaks
    return compiled > float(wanted) * eager, f"eager {eager:.0f} MiB, compiled {compiled:.0f} MiB"


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@contextmanager
def _watched() -> Iterator[list[int]]:
    """Yield a list for the peak bytes of memory above those at the start."""
    base, peak, stop = _resident(), [0], threading.Event()

    def watch() -> None:
        while not stop.is_set():
            peak[0] = max(peak[0], _resident() - base)
            time.sleep(0.0005)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield peak
    finally:
        stop.set()
        thread.join()


_SEEN = {
    "differs": _differs,
    "frames": _frames,
    "frames_ok": _frames_ok,
    "compiles": _compiles,
    "raises": _raises,
    "memory": _memory,
}
