"""Warm a process that snippets are forked from, without a trace in what they show.

What isolation costs is not the import but the first compile: Inductor's modules, its
lowerings, its C++ prefix header. So the process compiles once, forward and backward,
and then everything that numbering hangs on is put back.

The process must stay safe to fork: one thread (no OpenMP pool, no compile workers) and
no CUDA. It sees no GPU, which compiling would initialise; `unsafe` looks.
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

from tclab.engine.worker import vector_isas

#: Numbers that functions and classes were given for good: starting again would repeat them.
LASTING = {
    "torch._dynamo.logging._step_counter",
    "torch.autograd.function.AUTOGRAD_FUNCTION_COUNTER",
}

_threads = 1

#: What ATen hands to MKL's vector math, as ``aten/src/ATen/cpu/vml.h`` lists it in 2.13.
_VECTOR_MATH = (
    *("acos", "asin", "atan", "cos", "cosh", "erf", "erfc", "erfinv", "exp", "expm1", "lgamma"),
    *("log", "log10", "log1p", "log2", "sin", "sinh", "sqrt", "tan", "tanh"),
)

_LOOKS = 50  # at the threads, until one that ends is gone


def warm_up() -> str:
    """Import, compile, restore; '' or why it could not."""
    global _threads
    import torch

    from tclab.capturing.torch_private import private, warming

    _threads = torch.get_num_threads()
    with vector_isas.tried_ahead() if _has_compiler() else nullcontext():
        if moved := private.gone(warming.NAMES):  # imports all that they name
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


def in_child() -> None:
    """In a forked process, before the snippet: threads and random numbers of a fresh one."""
    import torch

    gc.unfreeze()  # what is frozen has no referrers, by which a capture finds functions
    torch.set_num_threads(_threads)
    torch.default_generator.seed()


def unsafe() -> str:
    """Why a fork of this process could not work; '' where it can."""
    import torch

    if torch.cuda.is_initialized():
        return "CUDA was initialised"
    for _ in range(_LOOKS):  # one that was told to end is there until the system has ended it
        if not (others := _other_threads()):
            return ""
        time.sleep(0.02)
    return f"it has {len(others) + 1} threads{_thread_names()}"


def _other_threads() -> list[str]:
    """The names that the system has for them; none where it does not say. Without the one that
    CUDA's driver starts and leaves when a fake tensor asks how many GPUs there are, and none is
    visible: it holds nothing, and in a fork the answer is the same.
    """
    names = []
    for task in Path("/proc/self/task").glob("[0-9]*"):
        if task.name != str(os.getpid()):
            with suppress(OSError):  # it has ended
                names.append((task / "comm").read_text().strip())
    return [name for name in names if not name.startswith("cuda")]


def _thread_names() -> str:
    """Whose they are, as far as Python knows; a library's own it does not."""
    others = [t for t in threading.enumerate() if t is not threading.main_thread()]
    names = [f"{t.name} ({type(t).__module__}.{type(t).__qualname__})" for t in others]
    return ": " + ", ".join(names) if names else ", that a library started"


def _end_monitors() -> None:
    """Tqdm starts a thread with its first progress bar, and anew with the first one of a fork."""
    for thread in threading.enumerate():
        if type(thread).__module__.partition(".")[0] == "tqdm":
            thread.exit()  # type: ignore[attr-defined]


def _compile_once() -> None:
    """One small compile in one thread; forward and backward, unless the autograd engine would
    start threads for the devices that this PyTorch was built for.
    """
    import torch
    from torch._inductor import config

    torch.set_num_threads(1)
    backend = "inductor" if _has_compiler() else "aot_eager"

    def small(x: Any, w: Any) -> Any:
        return torch.nn.functional.layer_norm(torch.relu(x @ w) + x, (8,)).sum()

    alone = torch.version.cuda is None
    with config.patch(compile_threads=1):
        x = torch.ones(8, 8, requires_grad=alone)
        w = torch.ones(8, 8, requires_grad=alone)
        out = torch.compile(small, backend=backend)(x, w)
        if alone:
            out.backward()
    torch._dynamo.reset()


def _resolve_vector_math() -> None:
    """Call each function of MKL's vector math once, in one thread.

    MKL chooses a function's kernel at its first call. Where two threads make that call at once,
    one may get a kernel of low accuracy, for that call alone: pytorch/pytorch#188792. What is
    chosen here holds in every fork.
    """
    import torch

    torch.set_num_threads(1)
    for dtype in (torch.float32, torch.float64):
        x = torch.full((2,), 0.5, dtype=dtype)
        for name in _VECTOR_MATH:
            getattr(torch, name)(x)


def _digest_triton() -> None:
    """Every process that compiles for Triton reads all of Triton once, 200 MB, for a digest."""
    from torch._inductor.runtime import triton_compat

    if triton_compat.HAS_TRITON:
        triton_compat.triton_key()


def _has_compiler() -> bool:
    from tclab.machine import has_cxx

    return has_cxx()


# --------------------------------------------------------------------------- restoring


class _State:
    """The global counters of PyTorch, to be put back."""

    def __init__(self) -> None:
        self.counters = {(id(o), n): _position(c) for o, n, c in _counters()}

    def restore(self) -> None:
        """Every counter as it was; one that came since starts at 0."""
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
    """Every `itertools.count` that a torch module, or a class in one, holds by a name."""
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
    """The number the counter gives next, without taking it."""
    return int(repr(counter).partition("(")[2].rstrip(")").split(",")[0])
