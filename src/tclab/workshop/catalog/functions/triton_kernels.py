"""Define hand-written Triton kernels, with one program for each row, as a reference for good
speed.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl


@triton.jit
def _softmax(x, out, columns, WIDTH: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * columns
    at = tl.arange(0, WIDTH)
    inside = at < columns
    value = tl.load(x + row + at, mask=inside, other=-float("inf")).to(tl.float32)
    value = tl.exp(value - tl.max(value, 0))
    tl.store(out + row + at, value / tl.sum(value, 0), mask=inside)


@triton.jit
def _rms_norm(x, weight, out, columns, WIDTH: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * columns
    at = tl.arange(0, WIDTH)
    inside = at < columns
    value = tl.load(x + row + at, mask=inside, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(value * value, 0) / columns + 1e-6)
    gain = tl.load(weight + at, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + row + at, value * scale * gain, mask=inside)


def _launch_options(width: int) -> dict[str, int]:
    """Return the launch options with which a row stays in registers: 16 elements in each thread, at
    most 32 warps.
    """
    block = triton.next_power_of_2(width)
    return {"WIDTH": block, "num_warps": max(1, min(32, block // 512))}


def softmax(x: torch.Tensor) -> torch.Tensor:
    """Compute the softmax over the last dimension of [rows, columns]; a row has to fit in
    registers.
    """
    out = torch.empty_like(x)
    _softmax[(x.shape[0],)](x, out, x.shape[1], **_launch_options(x.shape[1]))
    return out


def rms_norm(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Normalise the rows of [rows, columns] by their root mean square, times weight."""
    out = torch.empty_like(x)
    _rms_norm[(x.shape[0],)](x, weight, out, x.shape[1], **_launch_options(x.shape[1]))
    return out
