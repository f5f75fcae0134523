"""Make examples of gathers, scatters, index operations, embeddings and random numbers."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from tclab.workshop.catalog.example import FunctionCall, example


@example(backward=True)
def embedding() -> FunctionCall:
    return nn.Embedding(1000, 256), (torch.randint(0, 1000, (32, 64)),)


@example(backward=True)
def embedding_with_padding() -> FunctionCall:
    return nn.Embedding(500, 64, padding_idx=0), (torch.randint(0, 500, (16, 20)),)


@example()
def embedding_bag() -> FunctionCall:
    return nn.EmbeddingBag(500, 64, mode="sum"), (torch.randint(0, 500, (16, 20)),)


@example(backward=True)
def gather() -> FunctionCall:
    return lambda x, i: x.gather(1, i) * 2, (torch.randn(64, 100, requires_grad=True),
                                             torch.randint(0, 100, (64, 10)))  # fmt: skip


@example()
def scatter_add() -> FunctionCall:
    return lambda x, i, s: x.scatter_add(0, i, s), (
        torch.zeros(100, 64), torch.randint(0, 100, (300, 64)), torch.randn(300, 64))  # fmt: skip


@example()
def index_put_accumulate() -> FunctionCall:
    return lambda x, i, v: x.index_put((i,), v, accumulate=True), (
        torch.zeros(100), torch.randint(0, 100, (1000,)), torch.randn(1000))  # fmt: skip


@example(backward=True)
def index_select() -> FunctionCall:
    return lambda x, i: x[i] + 1, (torch.randn(100, 64, requires_grad=True),
                                   torch.randint(0, 100, (50,)))  # fmt: skip


@example()
def slice_scatter() -> FunctionCall:
    def fn(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x = x.clone()
        x[2:10, ::2] = y
        return x + 1

    return fn, (torch.randn(32, 64), torch.randn(8, 32))


@example()
def one_hot() -> FunctionCall:
    return lambda i: F.one_hot(i, 32).float(), (torch.randint(0, 32, (128,)),)


@example()
def triangle() -> FunctionCall:
    return lambda x: x.tril(-1) + x.triu(2), (torch.randn(100, 100),)


@example(backward=True)
def dropout() -> FunctionCall:
    return lambda x: F.dropout(x, 0.3) * 2, (torch.randn(512, 512, requires_grad=True),)


@example()
def random_numbers() -> FunctionCall:
    def fn(x: torch.Tensor) -> torch.Tensor:
        return x + torch.rand_like(x) + torch.randn(x.shape, device=x.device)

    return fn, (torch.randn(100, 100),)


@example()
def random_integers() -> FunctionCall:
    return lambda x: x + torch.randint_like(x, 0, 10), (torch.zeros(1000),)


@example()
def bernoulli() -> FunctionCall:
    return lambda p: torch.bernoulli(p) + 0.5, (torch.rand(1000),)


@example()
def random_permutation() -> FunctionCall:
    return lambda x: x[torch.randperm(x.shape[0])], (torch.randn(128, 8),)


@example(backward=True)
def max_pool() -> FunctionCall:
    return nn.MaxPool2d(2), (torch.randn(4, 16, 32, 32, requires_grad=True),)


@example(backward=True)
def avg_and_adaptive_pool() -> FunctionCall:
    return lambda x: F.avg_pool2d(x, 3, 1, 1).mean() + F.adaptive_avg_pool2d(x, 4).sum(), (
        torch.randn(4, 16, 32, 32, requires_grad=True),)  # fmt: skip


@example()
def constant_tensor() -> FunctionCall:
    def fn(x: torch.Tensor) -> torch.Tensor:
        return x + torch.tensor([1.0, 2.0, 3.0, 4.0], device=x.device)

    return fn, (torch.randn(16, 4),)


@example()
def constant_scalar() -> FunctionCall:
    return lambda x: x * torch.tensor(3.0) + torch.tensor(2), (torch.randn(16, 4),)


@example()
def print_breaks() -> FunctionCall:
    def fn(x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(x) * 2
        print("between")
        return torch.sigmoid(y) + 1

    return fn, (torch.randn(256),)
