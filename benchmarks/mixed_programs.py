"""Make random programs of operators in several types, for ``python -m benchmarks.agreement mixed``.

Between them the types are converted, and some code reads the type to convert to from a tensor. The
compiled code keeps more digits than eager in many places, and must count as equal.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

#: How many programs are compiled together, and how many operators each has.
_TOGETHER, _LENGTH = 6, 7

Step = tuple[Callable[..., Any], list[int]]


def _unary() -> list[Callable[[Any], Any]]:
    from torch.nn import functional as nn

    return [
        *(lambda x: x.tanh(), lambda x: x.sigmoid(), lambda x: x.exp(), lambda x: x.sin()),
        *(lambda x: x * 1.7, lambda x: x + 0.3, lambda x: x.pow(2), lambda x: x.clamp(-1, 1)),
        *(lambda x: x.softmax(-1), lambda x: x.cumsum(-1), lambda x: x.roll(1, -1)),
        *(nn.gelu, nn.silu, lambda x: x.sort(-1).values),
        lambda x: nn.layer_norm(x, x.shape[-1:]),
        lambda x: x - x.mean(-1, keepdim=True),
        lambda x: x / (x.abs().amax(-1, keepdim=True) + 1e-3),
        lambda x: (x.pow(2).mean(-1, keepdim=True) + 1e-5).rsqrt() * x,
        lambda x: x @ x.transpose(-1, -2) @ x / 8,
        lambda x: x.logsumexp(-1, keepdim=True) + x,
    ]


def _binary() -> list[Callable[[Any, Any], Any]]:
    import torch

    return [
        *(lambda a, b: a + b, lambda a, b: a * b, lambda a, b: a - b),
        lambda a, b: torch.where(a > 0, a, b.to(a.dtype)),
        lambda a, b: torch.addcmul(a, b.to(a.dtype), b.to(a.dtype)),
        lambda a, b: a.float().atan2(b.float()),
    ]


def programs(count: int) -> Iterator[tuple[str, Callable[..., Any], tuple[Any, Any]]]:
    """Yield `count` functions with a name and two tensors of [6, 24], each of a random type."""
    import torch

    types = [torch.float32, torch.bfloat16, torch.float16]
    for seed in range(count):
        drawn = random.Random(seed)
        torch.manual_seed(seed)
        steps = [[_draw_step(drawn, types) for _ in range(_LENGTH)] for _ in range(_TOGETHER)]
        first, second = (torch.randn(6, 24).to(drawn.choice(types)) for _ in range(2))
        yield f"mixed {seed}", _function(steps), (first, second)


def _draw_step(drawn: random.Random, types: list[Any]) -> Step:
    kind = drawn.random()
    if kind < 0.3:
        dtype = drawn.choice(types)
        return lambda x: x.to(dtype), [drawn.randrange(10**6)]
    if kind < 0.75:
        return drawn.choice(_unary()), [drawn.randrange(10**6)]
    return drawn.choice(_binary()), [drawn.randrange(10**6), drawn.randrange(10**6)]


def _function(programs: list[list[Step]]) -> Callable[..., Any]:
    def run(*inputs: Any) -> list[Any]:
        results = []
        for steps in programs:
            values = list(inputs)
            for call, places in steps:
                values.append(call(*(values[place % len(values)] for place in places)))
            results += values[-3:]
        return results

    return run
