"""Make examples of elementwise functions, mixed dtypes, views and mutation."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from tclab.workshop.catalog.example import FunctionCall, example


@example()
def relu_chain() -> FunctionCall:
    return lambda x: torch.relu(x + 1) * 2, (torch.randn(1 << 20),)


@example(backward=True)
def gelu_bias() -> FunctionCall:
    return lambda x, b: F.gelu(x + b) * x, (
        torch.randn(512, 1024, requires_grad=True),
        torch.randn(1024, requires_grad=True),
    )


@example(backward=True)
def transcendental() -> FunctionCall:
    return lambda x: torch.sin(x) * torch.exp(-x) + torch.log1p(x.abs()) + torch.tanh(x), (
        torch.randn(1000, requires_grad=True),)  # fmt: skip


@example()
def integers() -> FunctionCall:
    return lambda x, y: (x // 3 + y % 7) ^ (x & y), (
        torch.randint(0, 100, (4096,)), torch.randint(1, 100, (4096,)))  # fmt: skip


@example(backward=True)
def bf16_chain() -> FunctionCall:
    x = torch.randn(256, 512, dtype=torch.bfloat16, requires_grad=True)
    return lambda x: torch.sigmoid(x) * x + x.float().square().to(torch.bfloat16), (x,)


@example()
def fp16_to_fp32() -> FunctionCall:
    return lambda x: (x.float() * 3).half() + x, (torch.randn(3, 777, dtype=torch.float16),)


@example()
def int8_dequantize() -> FunctionCall:
    q = torch.randint(-128, 127, (256, 512), dtype=torch.int8)
    return lambda q, s: q.float() * s, (q, torch.rand(512))


@example()
def fp8_round_trip() -> FunctionCall:
    return lambda x: x.to(torch.float8_e4m3fn).to(torch.float32) * 2, (torch.randn(64, 128),)


@example()
def where_and_compare() -> FunctionCall:
    return lambda x, y: torch.where((x > y) & (y != 0), x, y).clamp(-1, 1), (
        torch.randn(33, 65), torch.randn(33, 65))  # fmt: skip


@example()
def broadcast_outer() -> FunctionCall:
    return lambda a, b: a[:, None] * b[None, :] + 1, (torch.randn(300), torch.randn(200))


@example(backward=True)
def transpose_add() -> FunctionCall:
    return lambda x, y: x.t() + y, (
        torch.randn(256, 512, requires_grad=True),
        torch.randn(512, 256, requires_grad=True),
    )


@example()
def permute_reshape() -> FunctionCall:
    return lambda x: (x.permute(0, 2, 1, 3).reshape(4, 16, -1) * 2).contiguous(), (
        torch.randn(4, 8, 16, 32),)  # fmt: skip


@example()
def in_place() -> FunctionCall:
    def fn(x: torch.Tensor) -> torch.Tensor:
        x.add_(1)
        y = x[1:]
        y.mul_(2)
        return x.sum(0) + y.mean(0)

    return fn, (torch.randn(64, 128),)


@example()
def concatenate() -> FunctionCall:
    return lambda x, y, z: torch.cat([x.relu(), y * 2, z], 1), (
        torch.randn(64, 32), torch.randn(64, 16), torch.randn(64, 8))  # fmt: skip


@example()
def pad_and_roll() -> FunctionCall:
    return lambda x: F.pad(torch.roll(x, 3, 1), (1, 2, 3, 4)) + 1, (torch.randn(64, 96),)


@example()
def makes_tensors() -> FunctionCall:
    def fn(x: torch.Tensor) -> torch.Tensor:
        n = torch.arange(x.shape[1], device=x.device)
        zeros = torch.zeros(x.shape[1], device=x.device)
        return x * n + zeros + torch.full_like(x, 0.5) + torch.ones((), device=x.device)

    return fn, (torch.randn(16, 50),)


@example()
def says_cuda() -> FunctionCall:
    def fn(x: torch.Tensor) -> torch.Tensor:
        y = torch.ones(x.shape, device="cuda")
        return x.cuda() + y.to(x.device) if x.is_cuda else x

    return fn, (torch.randn(500),)


@example()
def complex_numbers() -> FunctionCall:
    def fn(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        z = torch.complex(x, y)
        return z.abs() + torch.view_as_real(z)[..., 0]

    return fn, (torch.randn(128), torch.randn(128))


@example()
def upsample() -> FunctionCall:
    return lambda x: F.interpolate(x, scale_factor=2.0, mode="bilinear"), (
        torch.randn(2, 3, 16, 16),
    )


@example(dynamic=True)
def dynamic_pointwise() -> FunctionCall:
    return lambda x: torch.relu(x + 1) * x.shape[0], (torch.randn(123, 45),)
