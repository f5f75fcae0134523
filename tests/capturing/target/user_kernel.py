"""A Triton kernel of the user's, in a file, as Triton wants it."""

from __future__ import annotations

import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):  # noqa: N803
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    total = tl.load(x_ptr + offsets, mask=mask) + tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, total, mask=mask)


def add(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """relu(x + y) * 2, the sum by the kernel above."""
    out = torch.empty_like(x)
    add_kernel[(triton.cdiv(x.numel(), 256),)](x, y, out, x.numel(), BLOCK=256)
    return out.relu() * 2


@torch.library.triton_op("tclab_tests::add", mutates_args={})
def operator(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """x + y, behind an operator that the compiler looks into."""
    out = torch.empty_like(x)
    kernel = torch.library.wrap_triton(add_kernel)
    kernel[(triton.cdiv(x.numel(), 256),)](x, y, out, x.numel(), BLOCK=256)
    return out


@triton.autotune([triton.Config({"BLOCK": 128}), triton.Config({"BLOCK": 256})], key=["n"])
@triton.jit
def tuned_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):  # noqa: N803
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    total = tl.load(x_ptr + offsets, mask=mask) + tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, total, mask=mask)


@torch.library.triton_op("tclab_tests::tuned_add", mutates_args={})
def tuned_operator(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """x + y, by a kernel that the GPU would tune."""
    out = torch.empty_like(x)
    kernel = torch.library.wrap_triton(tuned_kernel)
    kernel[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, y, out, x.numel())
    return out


@triton.jit
def product_kernel(x_ptr, y_ptr, out_ptr, SIZE: tl.constexpr):  # noqa: N803
    one = tl.arange(0, SIZE)
    at = one[:, None] * SIZE + one[None, :]
    tl.store(out_ptr + at, tl.dot(tl.load(x_ptr + at), tl.load(y_ptr + at)))


def product(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """x @ y of square matrices whose size is a power of two, float32, by the kernel above."""
    out = torch.empty(x.shape, dtype=torch.float32, device=x.device)
    product_kernel[(1,)](x, y, out, SIZE=x.shape[0])
    return out
