"""Functions with planted faults: the first finding on each has to be the dearest.

`PLANTED` has one function a kind, and four with three faults; `python -m benchmarks.findings`
explains them all, and prints a table.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn


@dataclass(frozen=True)
class Planted:
    """A function's name in this file, its arguments as an expression, the kinds that its findings
    have to begin with, and those that it must not have. The first of its kinds came with the
    version of PyTorch in `since`, and is gone from the one in `fixed_in` on.
    """

    name: str
    inputs: str
    kinds: tuple[str, ...]
    never: tuple[str, ...] = ()
    target: str = ""
    calls: int = 1
    fixed_in: str = ""
    since: str = ""

    @property
    def kinds_here(self) -> tuple[str, ...]:
        """The kinds that its findings have to begin with on this PyTorch."""
        is_fixed = self.fixed_in and torch.__version__ >= self.fixed_in
        return self.kinds[1:] if is_fixed or torch.__version__ < self.since else self.kinds


def shifted(history):  # pytorch#197829
    history[1:] = history[:-1].clone()
    return history


def ranged(x):  # pytorch#175966
    return torch.arange(11) * 1_000_000_000 + x


class _Layer(nn.Module):
    def __init__(self, number):
        super().__init__()
        self.number = number

    def forward(self, x):
        print("layer")
        return x * self.number


class _Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(_Layer(n) for n in range(12))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


layers = _Layers()


class _Counted(nn.Module):
    def __init__(self):
        super().__init__()
        self.steps = 1  # from 2.14 on, Inductor returns x itself for x * 1

    def forward(self, x):
        self.steps += 1
        return x * self.steps


counted = _Counted()


def products(x, weight):
    return torch.relu(x @ weight) @ weight


def upcast(x, weight):
    return x.float() @ weight.float()


def small(x, weight):
    for _ in range(12):
        x = torch.softmax(x @ weight, dim=-1)
    return x


def mixed(x):
    kept = torch.stack([torch.full((), 2.0), torch.full((), 3.0)])
    return x * 2, kept.unsqueeze(0) + 1


def printed(x):
    y = x.sin()
    print("seen")
    return y.cos()


def looped(x):
    for _ in range(2):
        with torch.no_grad():
            print("seen")
            x = x + 1
    return x


def transposed(x):
    return x.t().contiguous().view(-1)


def cast(x):
    return (x * 2).float().sum()


def autocast(x, weight):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return x @ weight


def bisected(x):
    low = x.amax(-1, keepdim=True) - 1
    step = torch.ones_like(low)
    for _ in range(20):
        step = step / 2
        middle = low + step
        above = (x - middle).clamp(min=0).sum(-1, keepdim=True) >= 1
        low = torch.where(above, middle, low)
    return (x - low).clamp(min=0)


# ------------------------------------------------------------------- three faults each

_state = {"step": 0}


def counts_prints_and_asks(x):
    _state["step"] += 1
    y = x * _state["step"]
    print("seen")
    return y / y.abs().max().item()


def asks_and_prints_on_the_gpu(x, weight):
    y = x @ weight
    if y.sum() > 0:
        y = y * 2
    print("seen")
    return y @ weight


def copies_prints_and_moves(x):
    y = x.t().contiguous()
    print("seen")
    kept = torch.stack([torch.full((), 2.0), torch.full((), 3.0)])
    return y * 2, kept.unsqueeze(0) + 1


def shifts_prints_and_asks(history):
    history[1:] = history[:-1].clone()
    print("seen")
    return history * history.sum().item()


_FLOAT32 = "(torch.randn(4096, 4096), torch.randn(4096, 4096))"
_BFLOAT16 = "(torch.randn(64, 64).bfloat16(), torch.randn(64, 64).bfloat16())"
_BFLOAT16_LARGE = "(torch.randn(4096, 4096).bfloat16(), torch.randn(4096, 4096).bfloat16())"
_LARGE = "(torch.randn(4096, 4096),)"

PLANTED = (
    Planted("shifted", "(torch.randn(8, 64),)", ("results-differ",), fixed_in="2.15"),
    Planted("ranged", "(torch.arange(11),)", ("results-differ", "known-fault")),
    Planted("layers", "(torch.randn(8),)", ("recompile-limit",)),
    Planted("counted", "(torch.randn(8),)", ("compiles-every-call",), calls=4),
    Planted("products", _FLOAT32, ("float32-products",),
            ("launch-bound",), target="h200"),
    Planted("upcast", _BFLOAT16_LARGE, ("upcast-products", "float32-products"),
            ("launch-bound",), target="h200"),
    Planted("small", _BFLOAT16, ("launch-bound",), ("float32-products",),
            target="h200"),
    Planted("mixed", "(torch.randn(16),)", ("cpu-tensors",), target="h200"),
    Planted("printed", "(torch.randn(8),)", ("graph-break",), ("skipped",)),
    Planted("looped", "(torch.randn(8),)", ("nothing-compiled", "skipped")),
    Planted("transposed", _LARGE, ("copies",), ("launch-bound",), target="h200"),
    Planted("autocast", "(torch.randn(8, 8), torch.randn(8, 8))", ("cache-bypass",),
            since="2.12", fixed_in="2.14"),
    Planted("bisected", "(torch.randn(4, 16),)", ("unrolled-loop",), ("recompile",)),
    Planted("cast", "(torch.randn(8),)", (), ("copies", "graph-break", "recompile")),
    Planted("counts_prints_and_asks", "(torch.randn(8),)",
            ("compiles-every-call", "graph-break", "graph-break"), calls=4),
    Planted("asks_and_prints_on_the_gpu", _FLOAT32,
            ("float32-products", "graph-break", "graph-break"), target="h200"),
    Planted("copies_prints_and_moves", _LARGE, ("copies", "cpu-tensors", "graph-break"),
            target="h200"),
    Planted("shifts_prints_and_asks", "(torch.randn(8, 64),)",
            ("results-differ", "graph-break", "graph-break"), fixed_in="2.15"),
)  # fmt: skip
