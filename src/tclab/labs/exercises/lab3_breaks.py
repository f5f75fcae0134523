"""Lab 3: functions that break or recompile, to be mended with their results unchanged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tclab.labs.exercise import Draw, Exercise, all_of
from tclab.labs.exercises.compiled import once, same, whole
from tclab.labs.exercises.lab3_sizes import for_any_batch

Answer = Callable[..., Any]


# --------------------------------------------------------------------------- clip_norm

clip_norm = Exercise("clip_norm", "A branch on a tensor's value")


def _clip(x: Any, limit: float) -> Any:
    norm = x.norm().item()
    return x * (limit / norm) if norm > limit else x


@clip_norm.step(
    "large",
    "scales what is longer than the limit",
    "Take x of norm 5 and limit 1: what is the norm of the result?",
    "Where the norm is above the limit, multiply by limit / norm.",
)
def _(answer: Answer, draw: Draw) -> str:
    x = draw.tensor(8, 8) * 10
    return same(answer(x, 1.5), _clip(x, 1.5), "for a norm above the limit")


@clip_norm.step(
    "small",
    "leaves the rest as it is",
    "What does the original do with an x that is short enough?",
    "Both outcomes must be in the graph: torch.where(condition, a, b), or a factor clamped at 1.",
)
def _(answer: Answer, draw: Draw) -> str:
    x = draw.tensor(8, 8) * 0.01
    return same(answer(x, 1.5), x, "for a norm below the limit")


@clip_norm.step(
    "break",
    "is one graph, without a break",
    "Which line needs the value of a tensor before it can go on? (tclab.show(capture.breaks))",
    "`.item()`, bool() and `if tensor:` stop the trace. Keep the norm a tensor, and choose with "
    "torch.where, or clamp the factor.",
)
def _(answer: Answer, draw: Draw) -> str:
    return whole(answer, [(draw.tensor(8, 8) * 10, 1.5), (draw.tensor(8, 8) * 0.01, 1.5)])


@clip_norm.step(
    "recompiles",
    "is compiled once for many values",
    "Which guard fails from one x to the next?",
    "No Python number may come out of x: what is a tensor is never guarded by value.",
)
def _(answer: Answer, draw: Draw) -> str:
    return once(answer, [(draw.tensor(8, 8) * scale, 1.5) for scale in (0.01, 0.1, 1.0, 10.0)])


# --------------------------------------------------------------------------- WarmUp

warm_up = Exercise("WarmUp", "A counter in a module")

_CALLS = 12


def _linear(draw: Draw) -> Any:
    import torch

    linear = torch.nn.Linear(8, 8)
    with torch.no_grad():
        linear.weight.copy_(draw.tensor(8, 8))
        linear.bias.copy_(draw.tensor(8))
    return linear


def _factor(call: int) -> float:
    return min(1.0, call / 10)


def _results(answer: Answer, draw: Draw, calls: int) -> list[str]:
    linear, x = _linear(draw), draw.tensor(4, 8)
    module = answer(linear)
    texts = []
    for call in range(1, calls + 1):
        true = linear(x).detach() * _factor(call)
        texts.append(same(module(x).detach(), true, f"at call {call}"))
    return texts


@warm_up.step(
    "first",
    "gives a tenth at the first call",
    "What is `steps` when the factor is computed for the first time?",
    "The counter goes up first: at the first call the factor is 1/10.",
)
def _(answer: Answer, draw: Draw) -> str:
    return _results(answer, draw, 1)[0]


@warm_up.step(
    "counts",
    "goes on counting, and stops at 1",
    "What does the third call return, what the twelfth?",
    "The factor is steps / 10, and 1 from the tenth call on.",
)
def _(answer: Answer, draw: Draw) -> str:
    return next(filter(None, _results(answer, draw, _CALLS)), "")


@warm_up.step(
    "break",
    "is one graph, without a break",
    "Is there a Python number that is made from a tensor?",
    "No .item(), no float(tensor), no torch.compiler.disable: (steps / 10).clamp(max=1).",
)
def _(answer: Answer, draw: Draw) -> str:
    return whole(answer(_linear(draw)), [(draw.tensor(4, 8),)] * 3)


@warm_up.step(
    "recompiles",
    "is compiled once for twelve calls",
    "Look at the recompiles: which attribute is guarded, and by what?",
    "An int or float of a module is guarded by its value. Count in a tensor: "
    "self.register_buffer('steps', torch.zeros(())) and self.steps += 1.",
)
def _(answer: Answer, draw: Draw) -> str:
    return once(answer(_linear(draw)), [(draw.tensor(4, 8),)] * _CALLS)


# --------------------------------------------------------------------------- mean_of_first

mean_of_first = Exercise("mean_of_first", "A loop over lengths")


def _means(x: Any, lengths: Any) -> Any:
    import torch

    return torch.stack([row[:n].mean(0) for row, n in zip(x, lengths.tolist())])


def _batch(draw: Draw, *lengths: int) -> tuple[Any, Any]:
    import torch

    return draw.tensor(len(lengths), 7, 3), torch.tensor(lengths)


@mean_of_first.step(
    "full",
    "is the plain mean where every row is full",
    "What is the result where all lengths are the longest?",
    "[batch, time, features] in, [batch, features] out: reduce dimension 1.",
)
def _(answer: Answer, draw: Draw) -> str:
    x, lengths = _batch(draw, 7, 7, 7)
    return same(answer(x, lengths), _means(x, lengths), "for full rows")


@mean_of_first.step(
    "padding",
    "leaves out what lies beyond a row's length",
    "A row of length 3: which of its 7 entries may count?",
    "Make a mask: torch.arange(time) < lengths[:, None]. At length 3 the indices 0, 1 and 2 count.",
)
def _(answer: Answer, draw: Draw) -> str:
    x, lengths = _batch(draw, 7, 7, 7)
    padded = x.clone()
    lengths[1] = 3
    padded[1, 3:] = 1000.0
    said, true = answer(padded, lengths), _means(x, lengths)
    beyond = said.abs().max() > 20
    text = "what lies beyond the length is in the mean"
    return all_of((not beyond, text)) or same(said[:1], true[:1], "beside a short row")


@mean_of_first.step(
    "divisor",
    "divides by the row's own length",
    "You sum 3 entries: what do you divide by?",
    "Divide by lengths[:, None], not by the number of columns.",
)
def _(answer: Answer, draw: Draw) -> str:
    x, lengths = _batch(draw, 3, draw.integer(1, 2), 7, 5)
    return same(answer(x, lengths), _means(x, lengths), "for rows of several lengths")


@mean_of_first.step(
    "break",
    "is one graph, without a break",
    "Does any line turn the lengths into Python numbers?",
    "tolist() and int(n) need the values. A mask needs none.",
)
def _(answer: Answer, draw: Draw) -> str:
    return whole(answer, [_batch(draw, 3, 7, 5)])


@mean_of_first.step(
    "recompiles",
    "is compiled once for all lengths",
    "What changes from batch to batch, and is it a tensor in your function?",
    "As long as lengths stay a tensor no guard looks at them.",
)
def _(answer: Answer, draw: Draw) -> str:
    return once(answer, [_batch(draw, 3, 7, 5), _batch(draw, 1, 2, 6), _batch(draw, 4, 4, 4)])


EXERCISES = [clip_norm, warm_up, mean_of_first, for_any_batch]
