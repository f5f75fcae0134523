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


def has_symptom(case: Case) -> tuple[bool, str]:
    """Return whether the fault shows, and what was observed, in a process of its own."""
    receiver, sender = PROCESSES.Pipe(duplex=False)
    child = PROCESSES.Process(target=_answer, args=(case, sender))
    child.start()
    sender.close()
    try:
        return receiver.recv()
    except EOFError:
        return False, "the process died"
    finally:
        child.join()


def _answer(case: Case, sender: Any) -> None:
    word, _, wanted = case.symptom.partition(" ")
    try:
        sender.send(_SEEN[word](case, wanted))
    except Exception as error:
        sender.send((False, f"{type(error).__name__}: {error}"[:200]))


def _load(case: Case) -> tuple[Callable[..., Any], list[tuple[Any, ...]]]:
    spec = importlib.util.spec_from_file_location(case.path.stem, case.path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[case.path.stem] = module  # Dynamo looks there for a class's methods
    spec.loader.exec_module(module)
    function, calls = getattr(module, case.explained[0]), module.example_inputs()
    if isinstance(function, type):
        function = function()
    return function, calls if isinstance(calls, list) else [calls]


def _compiled(case: Case, function: Any, **options: Any) -> Callable[..., Any]:
    import torch

    return function if case.compiles_itself else torch.compile(function, **options)


def _differs(case: Case, _: str) -> tuple[bool, str]:
    """Return whether results differ for the same inputs and draws, call after call; a cache's draws
    are the file's fault.
    """
    import torch

    results = []
    for compile_it in (False, True):
        torch.manual_seed(0)
        function, calls = _load(case)
        run = (
            _compiled(case, function, options={"fallback_random": True}) if compile_it else function
        )
        results.append([_leaves(run(*args)) for args in calls])
    far = [
        not torch.allclose(a.double(), b.double(), rtol=1e-3, atol=1e-4)
        for a, b in zip(*(chain.from_iterable(each) for each in results))
    ]
    return any(far), f"{sum(far)} of {len(far)} results differ"


def _leaves(value: Any) -> list[Any]:
    from torch.utils._pytree import tree_leaves

    return [leaf.detach().clone() for leaf in tree_leaves(value) if hasattr(leaf, "detach")]


def _frames(case: Case, wanted: str) -> tuple[bool, str]:
    total, _ = _counted(case)
    return total == int(wanted), f"{total} frames"


def _frames_ok(case: Case, wanted: str) -> tuple[bool, str]:
    total, ok = _counted(case)
    return ok == int(wanted) and total > 0, f"{total} frames, {ok} ok"


def _compiles(case: Case, wanted: str) -> tuple[bool, str]:
    total, ok = _counted(case, backend="eager")
    return ok == int(wanted), f"{total} frames, {ok} ok"


def _counted(case: Case, **options: Any) -> tuple[int, int]:
    from torch._dynamo.utils import counters

    function, calls = _load(case)
    run = _compiled(case, function, **options)
    for args in calls:
        run(*args)
    return counters["frames"]["total"], counters["frames"]["ok"]


def _raises(case: Case, wanted: str) -> tuple[bool, str]:
    function, calls = _load(case)
    if not case.compiles_itself:
        function(*copy.deepcopy(calls[0]))  # eager raises nothing
    try:
        _compiled(case, function)(*calls[0])
    except Exception as error:
        return wanted in str(error), f"{type(error).__name__}: {str(error)[:120]!r}"
    return False, "nothing was raised"


def _memory(case: Case, wanted: str) -> tuple[bool, str]:
    import ctypes

    # M_MMAP_THRESHOLD: freed memory goes back to the system at once.
    ctypes.CDLL(None).mallopt(-3, 1 << 16)
    peaks = []
    for compile_it in (False, True):
        function, calls = _load(case)
        run = _compiled(case, function) if compile_it else function
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
