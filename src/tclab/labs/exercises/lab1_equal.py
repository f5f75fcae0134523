"""Lab 1, exercise 1: when two results are equal, as far as floats allow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tclab.labs.exercise import Draw, Exercise, all_of

Answer = Callable[..., Any]

close_enough = Exercise("close_enough", "Equal, as far as floats allow")


@close_enough.step(
    "same",
    "says True for a result and its copy",
    "What does your function return for two equal tensors? It must be True or False.",
    "It must return a plain bool: `bool(...)` of a tensor with one element, or torch.allclose.",
)
def _(answer: Answer, draw: Draw) -> str:
    x = draw.tensor(32, 32)
    said = answer(x, x.clone())
    return all_of((bool(said) is True, f"it said {said!r} of a tensor and its copy"))


@close_enough.step(
    "rounding",
    "accepts two orders of the same sum",
    "Does your function allow any difference at all? Adding in another order rounds elsewhere.",
    "float32 keeps 24 bits: a relative difference of 1e-6 is rounding. Compare with a tolerance.",
)
def _(answer: Answer, draw: Draw) -> str:
    x = draw.tensor(64, 512)
    same, other = x.double().softmax(-1).float(), x.softmax(-1)
    assert not same.equal(other)
    return all_of((answer(other, same), "it refused a softmax that differs in the last bits"))


@close_enough.step(
    "near-zero",
    "accepts rounding where the result is near zero",
    "What is allowed where the expected value is 0.00001, and its neighbours are about 1?",
    "Relative to a value near zero nothing is small. Allow an absolute difference, too, of the "
    "size that rounding has at the tensor's own scale (atol).",
)
def _(answer: Answer, draw: Draw) -> str:
    import torch

    x = draw.tensor(128, 256)
    exact = (x.double() - x.double().mean(-1, keepdim=True)).float()
    rounded = exact + 2e-7 * draw.tensor(128, 256).clamp(-2, 2)
    exact[:, 0] = 0.0  # the hardest place: nothing is relative to zero
    result = torch.where(exact == 0, 3e-7, rounded)
    text = "it refused a difference of 3e-7 beside values of about 1"
    return all_of((answer(result, exact), text))


@close_enough.step(
    "scale",
    "allows the same rounding at another scale",
    "Multiply both tensors by 10,000: does the answer change? Should it?",
    "An absolute tolerance alone is for one scale. Make it grow with the values (rtol).",
)
def _(answer: Answer, draw: Draw) -> str:
    x = draw.tensor(64, 512)
    same, other = x.double().softmax(-1).float() * 1e6, x.softmax(-1) * 1e6
    return all_of((answer(other, same), "it refused, times 1,000,000, what it took before"))


@close_enough.step(
    "bfloat16",
    "allows bfloat16 its own rounding",
    "How many bits does bfloat16 keep? Which difference is one step there?",
    "bfloat16 keeps 8 bits: neighbours differ by 0.4 to 0.8 %. Choose the tolerance by the dtype, "
    "from torch.finfo(dtype).eps or as torch.testing.assert_close does.",
)
def _(answer: Answer, draw: Draw) -> str:
    import torch

    x = draw.tensor(64, 64, dtype=torch.bfloat16)
    step = (x.float() * (1 + 2**-8)).to(torch.bfloat16)
    return all_of((answer(step, x), "it refused bfloat16 numbers that are neighbours"))


@close_enough.step(
    "cancels",
    "refuses errors that cancel in the mean",
    "One element too large, another too small: what is the mean of the differences?",
    "Look at the largest absolute difference, or at each element; never at a signed mean or sum.",
)
def _(answer: Answer, draw: Draw) -> str:
    x = draw.tensor(64, 64)
    shift = 0.1 * draw.tensor(64, 32)
    import torch

    wrong = x + torch.cat([shift, -shift], 1)
    return all_of((not answer(wrong, x), "it accepted errors of 10 % that add up to zero"))


@close_enough.step(
    "too-loose",
    "refuses one element that is 3 % off",
    "Which wrong result would your function still accept?",
    "A float32 result that is 3 % off is wrong: tolerances of 1e-3 and more hide mistakes. In "
    "bfloat16 3 % are four steps: allow two.",
)
def _(answer: Answer, draw: Draw) -> str:
    import torch

    texts = []
    for dtype in (torch.float32, torch.bfloat16):
        x = draw.tensor(64, 64, dtype=dtype)
        text = f"it accepted a tensor of {dtype} with one element 3 % off"
        texts.append(all_of((not answer(_one_off(x), x), text)))
    return next(filter(None, texts), "")


def _one_off(x: Any) -> Any:
    """The same, but for the largest element, which is 3 % off."""
    wrong = x.clone()
    wrong.view(-1)[x.abs().argmax()] *= 1.03
    return wrong


@close_enough.step(
    "small",
    "refuses it among small values, too",
    "All values are about 0.000001: which of your two tolerances decides there?",
    "A fixed atol accepts anything that is smaller than itself. Let it grow with the tensor's own "
    "scale: a small part of expected.abs().max().",
)
def _(answer: Answer, draw: Draw) -> str:
    x = draw.tensor(64, 64) * 1e-6
    text = "among values of about 1e-6 it accepted an element that is 3 % off"
    return all_of((answer(x.clone(), x), "it refused a copy"), (not answer(_one_off(x), x), text))


@close_enough.step(
    "shape",
    "refuses another shape, and NaN",
    "What does PyTorch do with a (16, 16) and a (16,) tensor in one expression?",
    "Shapes broadcast, and comparisons with NaN are False. Compare the shapes first, and ask "
    "whether all differences are small, not whether any is large.",
)
def _(answer: Answer, draw: Draw) -> str:
    import torch

    row = draw.tensor(16)
    x = row.expand(16, 16).contiguous()
    return all_of(
        (not answer(row, x), "it took a tensor of shape (16,) for one of shape (16, 16)"),
        (not answer(x + torch.nan, x), "it accepted a tensor of NaN"),
    )
