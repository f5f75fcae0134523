"""Build subjects with one or a few kernels, written as users write them.

Tensors are bfloat16 on a GPU and float32 on a CPU. A subject's `exact` computes the same function
in float64, unless a docstring says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

from tclab.workshop.catalog.functions.builders import (
    forward,
    forward_and_backward,
    random,
    seed_inputs,
)
from tclab.workshop.catalog.subject import Subject

# --------------------------------------------------------------------------- pointwise


def pointwise_chain(device: str, *, rows: int, columns: int) -> Subject:
    """Compute sigmoid(gelu(x + b) · x) − x for x of [rows, columns] and b of [columns]."""

    def fn(x: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.sigmoid(F.gelu(x + b) * x) - x

    return forward(fn, lambda: (random(device, rows, columns), random(device, columns)), device)


def bias_gelu(device: str, *, rows: int, columns: int) -> Subject:
    """Compute gelu(x + b), with GELU approximated by tanh."""

    def fn(x: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return F.gelu(x + b, approximate="tanh")

    return forward(fn, lambda: (random(device, rows, columns), random(device, columns)), device)


def swiglu(device: str, *, rows: int, columns: int) -> Subject:
    """Compute silu(a) · b of the two halves of [rows, columns]."""

    def fn(x: torch.Tensor) -> torch.Tensor:
        a, b = x.chunk(2, dim=-1)
        return F.silu(a) * b

    return forward(fn, lambda: (random(device, rows, columns),), device)


def rotary(device: str, *, tokens: int) -> Subject:
    """Apply rotary positions to [1, heads, tokens, 128], rotating one half of the last dimension
    against the other.
    """

    def fn(q: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        left, right = q.chunk(2, dim=-1)
        return q * cos + torch.cat([-right, left], -1) * sin

    def inputs() -> tuple[torch.Tensor, ...]:
        return random(device, 1, 32, tokens, 128), *(random(device, tokens, 128) for _ in "cs")

    return forward(fn, inputs, device)


def dropout(device: str, *, rows: int, columns: int) -> Subject:
    """Apply dropout to relu(x) + 1. Each call drops other elements, so the check compares the share
    of kept elements and their mean ratio to the right values.
    """

    def fn(x: torch.Tensor) -> torch.Tensor:
        return F.dropout(F.relu(x) + 1.0, 0.1, training=True)

    def shares(run: Callable[..., Any], arguments: tuple[Any, ...]) -> torch.Tensor:
        """Return the share of kept elements, and the mean ratio of the kept elements to their right
        values.
        """
        out, x = run(*arguments), arguments[0]
        kept = out != 0
        right = (F.relu(x.double()) + 1.0) / 0.9
        return torch.stack([kept.double().mean(), (out.double() / right)[kept].mean()])

    def exact(*arguments: Any) -> torch.Tensor:
        return torch.tensor([0.9, 1.0], device=device, dtype=torch.float64)

    return Subject(
        make=lambda compile_: compile_(fn),
        inputs=seed_inputs(lambda: (random(device, rows, columns),)),
        exact=exact,
        outcome=shares,
        floor=5e-2 if rows * columns < 2**16 else 2e-3,
    )


# --------------------------------------------------------------------------- rows


def _find_triton_kernel(name: str) -> dict[str, Callable[..., Any]]:
    """Return a hand-written Triton kernel under the key ``triton``; an empty mapping without
    Triton.
    """
    try:
        from tclab.workshop.catalog.functions import triton_kernels
    except ImportError:
        return {}
    return {"triton": getattr(triton_kernels, name)}


def softmax(device: str, *, rows: int, columns: int) -> Subject:
    """Compute the softmax of each row."""

    def fn(x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x, dim=-1)

    return forward(
        fn, lambda: (random(device, rows, columns),), device, others=_find_triton_kernel("softmax")
    )


def softmax_written_out(device: str, *, rows: int, columns: int) -> Subject:
    """Compute the softmax as exp(x − max) / sum."""

    def fn(x: torch.Tensor) -> torch.Tensor:
        up = torch.exp(x - x.amax(-1, keepdim=True))
        return up / up.sum(-1, keepdim=True)

    return forward(fn, lambda: (random(device, rows, columns),), device)


def _cross_entropy_inputs(device: str, rows: int, columns: int, grad: bool) -> tuple[Any, ...]:
    logits = random(device, rows, columns, grad=grad)
    target = torch.randint(columns, (rows,), device=device)
    return (logits, target, torch.ones((), device=device)) if grad else (logits, target)


def _cross_entropy(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    high = logits if logits.dtype == torch.float64 else logits.float()
    return F.cross_entropy(high, target)


def cross_entropy(device: str, *, rows: int, columns: int) -> Subject:
    """Compute the mean cross entropy of [rows, columns] logits, in float32."""
    make_inputs = lambda: _cross_entropy_inputs(device, rows, columns, grad=False)  # noqa: E731
    return forward(_cross_entropy, make_inputs, device)


def cross_entropy_training(device: str, *, rows: int, columns: int) -> Subject:
    """Compute the mean cross entropy and the gradient of the logits."""
    make_inputs = lambda: _cross_entropy_inputs(device, rows, columns, grad=True)  # noqa: E731
    return forward_and_backward(_cross_entropy, make_inputs, device)


def _layer_norm(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return F.layer_norm(x, x.shape[-1:], w, b)


def _rms_norm(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    high = x if x.dtype == torch.float64 else x.float()
    return (high * torch.rsqrt(high.square().mean(-1, keepdim=True) + 1e-6)).to(x.dtype) * w


def _rows(device: str, rows: int, columns: int, vectors: int, grad: bool) -> tuple[Any, ...]:
    """Return x [rows, columns], `vectors` vectors [columns], and with `grad` the gradient of a
    result.
    """
    wide = [random(device, rows, columns, grad=grad)]
    wide += [random(device, columns, grad=grad) for _ in range(vectors)]
    return (*wide, random(device, rows, columns)) if grad else tuple(wide)


def layer_norm(device: str, *, rows: int, columns: int) -> Subject:
    """Apply layer normalisation with weight and bias."""
    return forward(_layer_norm, lambda: _rows(device, rows, columns, 2, grad=False), device)


def layer_norm_training(device: str, *, rows: int, columns: int) -> Subject:
    """Apply layer normalisation, and compute the gradients of x, weight and bias."""
    return forward_and_backward(
        _layer_norm, lambda: _rows(device, rows, columns, 2, grad=True), device
    )


def rms_norm(device: str, *, rows: int, columns: int) -> Subject:
    """Apply RMS normalisation, written out as in Llama's code."""
    make_inputs = lambda: _rows(device, rows, columns, 1, grad=False)  # noqa: E731
    return forward(_rms_norm, make_inputs, device, others=_find_triton_kernel("rms_norm"))


def rms_norm_training(device: str, *, rows: int, columns: int) -> Subject:
    """Apply RMS normalisation, and compute the gradients of x and weight."""
    return forward_and_backward(
        _rms_norm, lambda: _rows(device, rows, columns, 1, grad=True), device
    )


# --------------------------------------------------------------------------- products


def matmul_bias_gelu(device: str, *, n: int) -> Subject:
    """Compute gelu(x @ w + b) of n × n matrices."""

    def fn(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return F.gelu(x @ w + b)

    def inputs() -> tuple[torch.Tensor, ...]:
        return random(device, n, n), random(device, n, n), random(device, n)

    return forward(fn, inputs, device)


def matmul_fp8(device: str, *, n: int) -> Subject:
    """Compute relu(x @ wᵀ) in bfloat16 for n × n float8 matrices x and w, with one scale for each
    matrix.
    """

    def fn(x: torch.Tensor, w: torch.Tensor, sx: torch.Tensor, sw: torch.Tensor) -> torch.Tensor:
        return F.relu(torch._scaled_mm(x, w.t(), sx, sw, out_dtype=torch.bfloat16))

    def inputs() -> tuple[torch.Tensor, ...]:
        pair = (torch.randn(n, n, device=device).to(torch.float8_e4m3fn) for _ in "xw")
        return *pair, *(torch.full((), 0.5, device=device) for _ in "xw")

    def exact(x: torch.Tensor, w: torch.Tensor, sx: torch.Tensor, sw: torch.Tensor) -> torch.Tensor:
        return F.relu((x.double() * sx) @ (w.double() * sw).t())

    return Subject(lambda compile_: compile_(fn), seed_inputs(inputs), exact, floor=1e-2)


def attention(device: str, *, tokens: int) -> Subject:
    """Compute causal attention of [2, 16, tokens, 64]. `exact` computes one head at a time to save
    memory.
    """

    def fn(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    def exact(*arguments: torch.Tensor) -> torch.Tensor:
        double = [a.double().flatten(0, 1).unbind() for a in arguments]
        heads = [fn(*(h[None, None] for h in three)) for three in zip(*double)]
        return torch.cat(heads).view(arguments[0].shape)

    inputs = seed_inputs(lambda: tuple(random(device, 2, 16, tokens, 64) for _ in "qkv"))
    floor = 1e-2 if device == "cuda" else 1e-5
    return Subject(lambda compile_: compile_(fn), inputs, exact, floor=floor)


# --------------------------------------------------------------------------- reductions, indexing


def row_sum(device: str, *, rows: int, columns: int) -> Subject:
    """Sum each row of x²."""
    return forward(lambda x: x.square().sum(-1), lambda: (random(device, rows, columns),), device)


def column_sum(device: str, *, rows: int, columns: int) -> Subject:
    """Sum each column of x²."""
    return forward(lambda x: x.square().sum(0), lambda: (random(device, rows, columns),), device)


def full_norm(device: str, *, rows: int, columns: int) -> Subject:
    """Compute the 2-norm of all elements in float32: one number."""

    def fn(x: torch.Tensor) -> torch.Tensor:
        high = x if x.dtype == torch.float64 else x.float()
        return high.square().sum().sqrt()

    return forward(fn, lambda: (random(device, rows, columns),), device)


def cumulative_sum(device: str, *, rows: int, columns: int) -> Subject:
    """Compute running sums of each row in float32."""

    def fn(x: torch.Tensor) -> torch.Tensor:
        return (x if x.dtype == torch.float64 else x.float()).cumsum(-1).to(x.dtype)

    return forward(fn, lambda: (random(device, rows, columns),), device)


def gather(device: str, *, rows: int, columns: int) -> Subject:
    """Gather all rows of a table in random order, and add 1."""

    def inputs() -> tuple[torch.Tensor, ...]:
        return random(device, rows, columns), torch.randperm(rows, device=device)

    return forward(lambda table, at: table[at] + 1.0, inputs, device)


def scatter_add(device: str, *, rows: int, columns: int) -> Subject:
    """Add each row to a random row of a table with a quarter as many rows, in float32."""

    def fn(x: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        dtype = torch.float64 if x.dtype == torch.float64 else torch.float32
        out = torch.zeros(rows // 4, columns, device=x.device, dtype=dtype)
        return out.index_add(0, at, x.to(dtype))

    def inputs() -> tuple[torch.Tensor, ...]:
        return random(device, rows, columns), torch.randint(rows // 4, (rows,), device=device)

    return forward(fn, inputs, device)


def transpose_add(device: str, *, rows: int, columns: int) -> Subject:
    """Add yᵀ to x, so that one of the two is read across its rows."""

    def inputs() -> tuple[torch.Tensor, ...]:
        return random(device, rows, columns), random(device, columns, rows)

    return forward(lambda x, y: x + y.t(), inputs, device)
