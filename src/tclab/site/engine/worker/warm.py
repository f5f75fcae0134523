"""Warm up the process that snippets are forked from, without changing their artifacts.

A new process loses more time in its first compile (Inductor's modules, lowerings and C++ prefix
header) than in importing torch. So the warm process compiles once, forward and backward, and then
restores every counter from which names are numbered.

The process must stay safe to fork: it may have only one thread (no OpenMP pool, no compile workers)
and must not initialise CUDA. So it sees no GPU, because compiling would initialise it.
`fork_problem` checks both.
"""

from __future__ import annotations

import gc
import itertools
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from pathlib import Path
from types import ModuleType
from typing import Any

from tclab.site.engine.worker import vector_isas

#: Counters that are not restored, because the functions and classes with their numbers still exist.
LASTING = {
    "torch._dynamo.logging._step_counter",
    "torch.autograd.function.AUTOGRAD_FUNCTION_COUNTER",
}

_threads = 1

#: The functions that ATen computes with MKL's vector math, as listed in 2.13 by
#: ``aten/src/ATen/cpu/vml.h``.
_VECTOR_MATH = (
    *("acos", "asin", "atan", "cos", "cosh", "erf", "erfc", "erfinv", "exp", "expm1", "lgamma"),
    *("log", "log10", "log1p", "log2", "sin", "sinh", "sqrt", "tan", "tanh"),
)

_CHECKS = 50  # number of checks, 20 ms apart, for threads to end


def warm_up() -> str:
    """Import torch, compile once, restore the counters; return '', or the reason why that
    failed.
    """
    global _threads
    import torch

    from tclab.capturing.torch_private import private, warming

    _threads = torch.get_num_threads()
    with vector_isas.run_tests_in_forks() if _has_compiler() else nullcontext():
        # This call also imports the modules that have these names.
        if moved := private.describe_missing(warming.NAMES):
            return "; ".join(moved)
        _digest_triton()
        _resolve_vector_math()
        state = _State()
        _compile_once()
        state.restore()
    _end_monitors()
    gc.collect()
    gc.freeze()
    return ""


def prepare_fork() -> None:
    """Set, in a forked process, the number of threads and the random seed as in a new process."""
    import torch

    # a capture finds functions through gc.get_referrers, which ignores frozen objects
    gc.unfreeze()
    torch.set_num_threads(_threads)
    torch.default_generator.seed()


def fork_problem() -> str:
    """Return the reason why a fork of this process may fail; '' if there is none."""
    import torch

    if torch.cuda.is_initialized():
        return "CUDA was initialised"
    for _ in range(_CHECKS):  # the system needs a moment to end a thread
        if not (others := _other_threads()):
            return ""
        time.sleep(0.02)
    return f"it has {len(others) + 1} threads{_thread_names()}"


def _other_threads() -> list[str]:
    """Return the system's names for the other threads; empty on a system without /proc.

    The thread of CUDA's driver is left out. The driver starts it when a fake tensor asks for the
    number of GPUs and none is visible; it holds no lock, and a fork gets the same answer.
    """
    names = []
    for task in Path("/proc/self/task").glob("[0-9]*"):
        if task.name != str(os.getpid()):
            with suppress(OSError):  # the thread has ended
                names.append((task / "comm").read_text().strip())
    return [name for name in names if not name.startswith("cuda")]


def _thread_names() -> str:
    """Return the names and classes of the threads that Python knows, for a message."""
    others = [t for t in threading.enumerate() if t is not threading.main_thread()]
    names = [f"{t.name} ({type(t).__module__}.{type(t).__qualname__})" for t in others]
    return ": " + ", ".join(names) if names else ", that a library started"


def _end_monitors() -> None:
    """End tqdm's monitor threads. Tqdm starts a new one with the first progress bar of a fork."""
    for thread in threading.enumerate():
        if type(thread).__module__.partition(".")[0] == "tqdm":
            thread.exit()  # type: ignore[attr-defined]


def _compile_once() -> None:
    """Compile the forward of a small function in one thread. Compile also the backward, unless
    PyTorch was built for CUDA, because its autograd engine would start threads.

    The graph caches are off, because their key hashes PyTorch's sources, once a process, and a
    snippet may show that.
    """
    import torch
    from torch._functorch import config as functorch
    from torch._inductor import config

    torch.set_num_threads(1)
    backend = "inductor" if _has_compiler() else "aot_eager"

    def small(x: Any, w: Any) -> Any:
        return torch.nn.functional.layer_norm(torch.relu(x @ w) + x, (8,)).sum()

    alone = torch.version.cuda is None
    graphs_off = functorch.patch(enable_autograd_cache=False)
    with config.patch(compile_threads=1, fx_graph_cache=False), graphs_off:
        x = torch.ones(8, 8, requires_grad=alone)
        w = torch.ones(8, 8, requires_grad=alone)
        out = torch.compile(small, backend=backend)(x, w)
        if alone:
            out.backward()
    torch._dynamo.reset()


def _resolve_vector_math() -> None:
    """Call each function of MKL's vector math once, in one thread.

    MKL chooses a function's kernel at its first call. If two threads make that call at once, one of
    them may get a kernel of low accuracy for this call: pytorch/pytorch#188792. Every fork inherits
    the choices made here.
    """
    import torch

    torch.set_num_threads(1)
    for dtype in (torch.float32, torch.float64):
        x = torch.full((2,), 0.5, dtype=dtype)
        for name in _VECTOR_MATH:
            getattr(torch, name)(x)


def _digest_triton() -> None:
    """Compute Triton's digest before the forks, so that no fork must read all 200 MB of Triton."""
    from torch._inductor.runtime import triton_compat

    if triton_compat.HAS_TRITON:
        triton_compat.triton_key()


def _has_compiler() -> bool:
    from tclab.system.machine import has_cxx

    return has_cxx()


# --------------------------------------------------------------------------- restoring


class _State:
    """The positions of PyTorch's global counters, so that they can be restored."""

    def __init__(self) -> None:
        self.counters = {(id(o), n): _position(c) for o, n, c in _counters()}

    def restore(self) -> None:
        """Restore every counter; a new counter starts at 0."""
        import torch._dynamo.utils as dynamo_utils
        from torch._inductor import metrics
        from torch.fx import graph_module

        fresh: dict[int, itertools.count[int]] = {}
        for owner, name, counter in list(_counters()):
            start = self.counters.get((id(owner), name), 0)
            new = fresh.setdefault(id(counter), itertools.count(start))
            fresh[id(new)] = new
            setattr(owner, name, new)
        dynamo_utils.counters.clear()
        metrics.reset()
        graph_module._loader.next_id = 0


def _counters() -> Iterator[tuple[ModuleType | type, str, itertools.count[int]]]:
    """Yield every `itertools.count` that is an attribute of a torch module, or of a class in
    one.
    """
    for module in [m for n, m in sorted(sys.modules.items()) if n.split(".")[0] == "torch"]:
        owners: list[ModuleType | type] = [module, *_classes(module)]
        for owner in owners:
            for name, value in list(vars(owner).items()):
                lasting = f"{owner.__name__}.{name}" in LASTING
                if type(value) is itertools.count and not lasting:
                    yield owner, name, value


def _classes(module: ModuleType) -> list[type]:
    name = getattr(module, "__name__", "")
    return [
        value
        for value in list(vars(module).values())
        if isinstance(value, type) and value.__module__ == name
    ]


def _position(counter: itertools.count[int]) -> int:
    """Return the next number of a counter without advancing the counter."""
    return int(repr(counter).partition("(")[2].rstrip(")").split(",")[0])
