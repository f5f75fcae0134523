"""Functions that compile again, one for each kind of guard that Dynamo writes.

`guards.py` copies this file, changes where its lines and its folder are, and compiles each kind.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import torch

#: A function that compiles as `torch.compile` does, with these options.
Compile = Callable[..., Callable[..., Any]]
#: Kind → a function that calls a compiled function so that a guard of the kind fails.
KINDS: dict[str, Callable[[Compile], None]] = {}

config = SimpleNamespace(scale=2)
options: dict[str, float] = {}
FACTOR = 2
MODE = "sin"


def kind(name: str) -> Callable[[Callable[[Compile], None]], None]:
    """Enter a function into KINDS."""

    def enter(calls: Callable[[Compile], None]) -> None:
        KINDS[name] = calls

    return enter


def sine(x: torch.Tensor) -> torch.Tensor:
    return x.sin() + 1


def scaled(x: torch.Tensor, by: Any) -> torch.Tensor:
    return x * by if by else x.sin()


def chosen(x: torch.Tensor, how: Any) -> torch.Tensor:
    return x.sin() if how == "sin" else x.cos() if how else x.tan()


def total(xs: Any) -> torch.Tensor:
    return sum(x.sin() for x in (xs.values() if isinstance(xs, dict) else xs))


def through(x: torch.Tensor, act: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
    return act(x)


class Layer(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.step, self.flag, self.name = 0, False, "a"
        self.fc = torch.nn.Linear(4, 4)
        self.drop = torch.nn.Dropout(0.5)
        self.parts = torch.nn.ModuleList([torch.nn.ReLU()])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.parts[0](self.drop(x)) * self.fc.in_features + (1 if self.flag else self.step)


class Counter(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.step = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.step += 1
        return x * self.step


# ------------------------------------------------------------------------------ tensors


@kind("size")
def _(compiled: Compile) -> None:
    f = compiled(sine, dynamic=False)
    f(torch.ones(8)), f(torch.ones(12))


@kind("rank")
def _(compiled: Compile) -> None:
    f = compiled(sine)
    f(torch.ones(8)), f(torch.ones(2, 4))


@kind("stride")
def _(compiled: Compile) -> None:
    f = compiled(sine)
    f(torch.ones(4, 6)), f(torch.ones(6, 4).t())


@kind("dtype")
def _(compiled: Compile) -> None:
    f = compiled(sine)
    f(torch.ones(8)), f(torch.ones(8).double())


@kind("requires_grad")
def _(compiled: Compile) -> None:
    f = compiled(sine)
    f(torch.ones(8)), f(torch.ones(8, requires_grad=True))


@kind("device")
def _(compiled: Compile) -> None:
    f = compiled(sine)
    f(torch.ones(8)), f(torch.ones(8, device="meta"))


@kind("tensor subclass")
def _(compiled: Compile) -> None:
    f = compiled(sine)
    f(torch.ones(8)), f(torch.nn.Parameter(torch.ones(8), requires_grad=False))


@kind("tensor aliasing")
def _(compiled: Compile) -> None:
    f, x = compiled(lambda x, y: x + y), torch.ones(8)
    f(x, x), f(x, torch.ones(8))


@kind("duck sizing")
def _(compiled: Compile) -> None:
    f = compiled(lambda x, y: (x + 1, y + 1), dynamic=True)
    f(torch.ones(8), torch.ones(8)), f(torch.ones(8), torch.ones(9))


@kind("symbolic bound")
def _(compiled: Compile) -> None:
    f = compiled(lambda x: x.sin() if x.shape[0] > 10 else x.cos(), dynamic=True)
    f(torch.ones(8)), f(torch.ones(16))


@kind("symbolic multiple")
def _(compiled: Compile) -> None:
    f = compiled(lambda x: x.sin() if x.shape[0] % 4 == 0 else x.cos(), dynamic=True)
    f(torch.ones(8)), f(torch.ones(9))


@kind("symbolic one")
def _(compiled: Compile) -> None:
    f = compiled(sine, dynamic=True)
    f(torch.ones(8)), f(torch.ones(1))


# ------------------------------------------------------------------------- global state


@kind("grad mode")
def _(compiled: Compile) -> None:
    f = compiled(sine)
    f(torch.ones(8))
    with torch.no_grad():
        f(torch.ones(8))


@kind("default dtype")
def _(compiled: Compile) -> None:
    f = compiled(sine)
    f(torch.ones(8))
    torch.set_default_dtype(torch.float64)
    try:
        f(torch.ones(8, dtype=torch.float32))
    finally:
        torch.set_default_dtype(torch.float32)


@kind("default device")
def _(compiled: Compile) -> None:
    f = compiled(sine)
    f(torch.ones(8))
    with torch.device("meta"):
        f(torch.ones(8, device="cpu"))


@kind("autocast")
def _(compiled: Compile) -> None:
    f = compiled(sine)
    f(torch.ones(8))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        f(torch.ones(8))


@kind("function mode")
def _(compiled: Compile) -> None:
    from torch.overrides import TorchFunctionMode

    class Mode(TorchFunctionMode):
        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            return func(*args, **(kwargs or {}))

    f = compiled(sine)
    f(torch.ones(8))
    with Mode():
        f(torch.ones(8))


@kind("deterministic")
def _(compiled: Compile) -> None:
    f = compiled(sine)
    f(torch.ones(8))
    torch.use_deterministic_algorithms(True)
    try:
        f(torch.ones(8))
    finally:
        torch.use_deterministic_algorithms(False)


# ------------------------------------------------------------------------------- values


@kind("int")
def _(compiled: Compile) -> None:
    f = compiled(scaled, dynamic=False)
    f(torch.ones(8), 3), f(torch.ones(8), 5)


@kind("int that a bound holds")
def _(compiled: Compile) -> None:
    f = compiled(lambda x, n: x.sin() if n > 4 else x.cos(), dynamic=True)
    f(torch.ones(8), 3), f(torch.ones(8), 5)


@kind("float")
def _(compiled: Compile) -> None:
    f = compiled(scaled, dynamic=False)
    f(torch.ones(8), 1.5), f(torch.ones(8), 2.5)


@kind("float nan")
def _(compiled: Compile) -> None:
    f = compiled(scaled, dynamic=False)
    f(torch.ones(8), math.nan), f(torch.ones(8), 2.5)


@kind("complex")
def _(compiled: Compile) -> None:
    f = compiled(scaled)
    f(torch.ones(8), 1j), f(torch.ones(8), 2j)


@kind("bool")
def _(compiled: Compile) -> None:
    f = compiled(scaled)
    f(torch.ones(8), True), f(torch.ones(8), False)


@kind("string")
def _(compiled: Compile) -> None:
    f = compiled(chosen)
    f(torch.ones(8), "sin"), f(torch.ones(8), "cos")


@kind("string with what ends a guard")
def _(compiled: Compile) -> None:
    f = compiled(chosen)
    f(torch.ones(8), "a  # b: 1/0: c.py:7 in f"), f(torch.ones(8), "cos")


@kind("None")
def _(compiled: Compile) -> None:
    f = compiled(chosen)
    f(torch.ones(8), None), f(torch.ones(8), "cos")


@kind("not None")
def _(compiled: Compile) -> None:
    f = compiled(lambda x, y=None: x if y is None else x + y)
    f(torch.ones(8), torch.ones(8)), f(torch.ones(8), None)


@kind("torch dtype")
def _(compiled: Compile) -> None:
    f = compiled(lambda x, dtype: x.to(dtype))
    f(torch.ones(8), torch.float64), f(torch.ones(8), torch.float16)


@kind("torch device")
def _(compiled: Compile) -> None:
    f = compiled(lambda x, device: torch.zeros(8, device=device))
    f(torch.ones(8), torch.device("cpu")), f(torch.ones(8), torch.device("meta"))


@kind("range")
def _(compiled: Compile) -> None:
    f = compiled(lambda x, of: x + sum(of))
    f(torch.ones(8), range(3)), f(torch.ones(8), range(4))


@kind("slice")
def _(compiled: Compile) -> None:
    f = compiled(lambda x, of: x[of] + 1)
    f(torch.ones(8), slice(0, 3)), f(torch.ones(8), slice(0, 4))


@kind("enum")
def _(compiled: Compile) -> None:
    import enum

    colour = enum.Enum("colour", "RED BLUE")
    f = compiled(lambda x, of: x.sin() if of == colour.RED else x.cos())
    f(torch.ones(8), colour.RED), f(torch.ones(8), colour.BLUE)


# -------------------------------------------------------------------------- containers


@kind("list length")
def _(compiled: Compile) -> None:
    f = compiled(total)
    f([torch.ones(8)] * 2), f([torch.ones(8)] * 3)


@kind("tuple length")
def _(compiled: Compile) -> None:
    f = compiled(total)
    f((torch.ones(8), torch.ones(8))), f((torch.ones(8),) * 3)


@kind("empty list")
def _(compiled: Compile) -> None:
    f = compiled(lambda x, xs: x + len(xs))
    f(torch.ones(8), []), f(torch.ones(8), [1])


@kind("dict length")
def _(compiled: Compile) -> None:
    f = compiled(total)
    f({"a": torch.ones(8)}), f({"a": torch.ones(8), "b": torch.ones(8)})


@kind("dict keys")
def _(compiled: Compile) -> None:
    f = compiled(total)
    f({"a": torch.ones(8)}), f({"b": torch.ones(8)})


@kind("dict contains")
def _(compiled: Compile) -> None:
    f = compiled(lambda x: x + options["bias"] if "bias" in options else x.sin())
    options.clear()
    f(torch.ones(8))
    options["bias"] = 1.0
    f(torch.ones(8))


@kind("set")
def _(compiled: Compile) -> None:
    f = compiled(lambda x, of: x.sin() if "a" in of else x.cos())
    f(torch.ones(8), {"a", "b", "c"}), f(torch.ones(8), {"b", "c", "d"})


@kind("frozenset")
def _(compiled: Compile) -> None:
    f = compiled(lambda x, of: x + len(of))
    f(torch.ones(8), frozenset({"a", "b", "c"})), f(torch.ones(8), frozenset({"b", "d", "c"}))


@kind("attribute that is there or not")
def _(compiled: Compile) -> None:
    f = compiled(lambda x, of: x * of.scale if hasattr(of, "scale") else x.sin(), dynamic=False)
    f(torch.ones(8), SimpleNamespace(scale=2)), f(torch.ones(8), SimpleNamespace(bias=2))


@kind("type")
def _(compiled: Compile) -> None:
    f = compiled(lambda xs: xs[0] + 1)
    f([torch.ones(8)]), f((torch.ones(8),))


@kind("type of one's own")
def _(compiled: Compile) -> None:
    class One(SimpleNamespace):
        pass

    class Two(SimpleNamespace):
        pass

    f = compiled(lambda x, of: x * of.scale)
    f(torch.ones(8), One(scale=2)), f(torch.ones(8), Two(scale=2))


# ----------------------------------------------------------------- functions and objects


@kind("function")
def _(compiled: Compile) -> None:
    f = compiled(through)
    f(torch.ones(8), torch.sin), f(torch.ones(8), torch.cos)


@kind("function of one's own")
def _(compiled: Compile) -> None:
    f = compiled(through)
    f(torch.ones(8), sine), f(torch.ones(8), lambda x: x)


@kind("method")
def _(compiled: Compile) -> None:
    class Scale:
        def __init__(self, by: int) -> None:
            self.by = by

        def of(self, x: torch.Tensor) -> torch.Tensor:
            return x * self.by

    f = compiled(through)
    f(torch.ones(8), Scale(2).of), f(torch.ones(8), Scale(3).of)


@kind("builtin")
def _(compiled: Compile) -> None:
    f = compiled(lambda x, of: x + of([1, 2]))
    f(torch.ones(8), len), f(torch.ones(8), sum)


@kind("closure cell")
def _(compiled: Compile) -> None:
    by = 2

    def inner(x: torch.Tensor) -> torch.Tensor:
        return x * by

    f = compiled(inner, dynamic=False)
    f(torch.ones(8))
    by = 3
    f(torch.ones(8))


@kind("default argument")
def _(compiled: Compile) -> None:
    def inner(x: torch.Tensor, by: int = 2) -> torch.Tensor:
        return x * by

    f = compiled(lambda x: inner(x) + 1, dynamic=False)
    f(torch.ones(8))
    inner.__defaults__ = (3,)
    f(torch.ones(8))


@kind("global")
def _(compiled: Compile) -> None:
    global FACTOR
    f = compiled(lambda x: x * FACTOR, dynamic=False)
    FACTOR = 2
    f(torch.ones(8))
    FACTOR = 3
    f(torch.ones(8))


@kind("global string")
def _(compiled: Compile) -> None:
    global MODE
    f = compiled(lambda x: x.sin() if MODE == "sin" else x.cos())
    MODE = "sin"
    f(torch.ones(8))
    MODE = "cos"
    f(torch.ones(8))


@kind("attribute of a global")
def _(compiled: Compile) -> None:
    f = compiled(lambda x: x * config.scale, dynamic=False)
    config.scale = 2
    f(torch.ones(8))
    config.scale = 3
    f(torch.ones(8))


# ------------------------------------------------------------------------------ modules


@contextlib.contextmanager
def layer(compiled: Compile, **more: Any) -> Iterator[Layer]:
    """Yield a layer that is called once before the block and once after it."""
    of = Layer()
    f = compiled(of, **more)
    f(torch.ones(4))
    yield of
    f(torch.ones(4))


@kind("module's attribute")
def _(compiled: Compile) -> None:
    with layer(compiled, dynamic=False) as of:
        of.step = 3


@kind("module's flag")
def _(compiled: Compile) -> None:
    with layer(compiled) as of:
        of.flag = True


@kind("module in a module")
def _(compiled: Compile) -> None:
    with layer(compiled, dynamic=False) as of:
        of.fc.in_features = 5


@kind("training")
def _(compiled: Compile) -> None:
    with layer(compiled) as of:
        of.eval()


@kind("another module in its place")
def _(compiled: Compile) -> None:
    with layer(compiled) as of:
        of.parts[0] = torch.nn.Tanh()


@kind("another module")
def _(compiled: Compile) -> None:
    f = compiled(lambda x, of: of(x), dynamic=False)
    f(torch.ones(4), torch.nn.Linear(4, 4)), f(torch.ones(4), torch.nn.ReLU())


@kind("a counter")
def _(compiled: Compile) -> None:
    f = compiled(Counter(), dynamic=False)
    f(torch.ones(4)), f(torch.ones(4)), f(torch.ones(4))


@kind("breaks behind a break")
def _(compiled: Compile) -> None:
    def broken(x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        torch._dynamo.graph_break()
        z = y * 2
        torch._dynamo.graph_break()
        return z.sin()

    f = compiled(broken, dynamic=False)
    f(torch.ones(4)), f(torch.ones(5))


@kind("behind a break")
def _(compiled: Compile) -> None:
    def broken(x: torch.Tensor) -> torch.Tensor:
        y = x.sum().item()
        torch._dynamo.graph_break()
        return x * y

    f = compiled(broken, dynamic=False)
    f(torch.ones(4)), f(torch.ones(4) * 3)
