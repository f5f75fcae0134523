"""Measure a machine's limits: a copy, a matrix product, a kernel launch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tclab.workshop.catalog.subject import Subject


def _make_subject(run: Callable[..., Any], inputs: Callable[[int], tuple[Any, ...]]) -> Subject:
    """Return a subject for an operator of PyTorch, which is its own reference."""
    return Subject(make=lambda _: run, inputs=inputs, exact=run, floor=1e-1)


def copy(device: str, *, mib: int) -> Subject:
    """Copy a tensor of `mib` MiB into another."""
    target = torch.empty(mib * 2**18, device=device)

    def inputs(seed: int) -> tuple[torch.Tensor]:
        torch.manual_seed(seed)
        return (torch.rand(mib * 2**18, device=device),)

    return _make_subject(target.copy_, inputs)


def product(device: str, *, dtype: str, n: int) -> Subject:
    """Multiply two n × n matrices by PyTorch's library; ``tf32`` is float32 with TF32 products."""
    if dtype == "float8":
        return _float8(device, n)
    torch.set_float32_matmul_precision("high" if dtype == "tf32" else "highest")
    exact_dtype = torch.float32 if dtype == "tf32" else getattr(torch, dtype)

    def inputs(seed: int) -> tuple[torch.Tensor, ...]:
        torch.manual_seed(seed)
        return tuple(torch.randn(n, n, device=device, dtype=exact_dtype) for _ in "ab")

    return _make_subject(torch.mm, inputs)


def _float8(device: str, n: int) -> Subject:
    one = torch.ones((), device=device)

    def inputs(seed: int) -> tuple[torch.Tensor, ...]:
        torch.manual_seed(seed)
        pair = (torch.randn(n, n, device=device).to(torch.float8_e4m3fn) for _ in "ab")
        return tuple(pair)

    def run(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch._scaled_mm(a, b.t(), one, one, out_dtype=torch.bfloat16)

    return _make_subject(run, inputs)


def launch(device: str) -> Subject:
    """Run an operator on one number, so that the time is that of the launch."""
    one = torch.zeros(1, device=device)
    return _make_subject(one.copy_, lambda _: (torch.ones(1, device=device),))


def launch_of_a_graph(device: str) -> Subject:
    """Replay a CUDA graph of twenty kernels on one number; the measured time is for all twenty."""
    x, graph = torch.ones(1, device=device), torch.cuda.CUDAGraph()
    x.mul_(1.0)
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        for _ in range(20):
            x.mul_(1.0)

    def run(_: torch.Tensor) -> torch.Tensor:
        graph.replay()
        return x

    return _make_subject(run, lambda _: (x,))
