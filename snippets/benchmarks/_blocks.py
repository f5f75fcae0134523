"""A stack of pre-norm MLP blocks: the feed-forward half of a transformer."""

from __future__ import annotations

import copy
import math

import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    """x + W2 · gelu(W1 · layer_norm(x)), [batch, dim] → [batch, dim]."""

    def __init__(self, dim: int, hidden: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.up = nn.Linear(dim, hidden)
        self.down = nn.Linear(hidden, dim)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


def stack(layers: int, dim: int, hidden: int) -> nn.Sequential:
    """A stack with fixed weights: seeded, so that every run times the same model."""
    torch.manual_seed(0)
    return nn.Sequential(*(Block(dim, hidden) for _ in range(layers)))


def in_float64(model: nn.Module) -> nn.Module:
    """The same weights in float64, as a reference."""
    return copy.deepcopy(model).double()


def weight_bytes(model: nn.Module) -> int:
    """Bytes of all parameters: what a forward reads at least once."""
    return sum(p.nbytes for p in model.parameters())


def matmul_flops(model: nn.Module, batch: int) -> int:
    """Floating-point operations of the linear layers: two for each weight and row."""
    linears = (m for m in model.modules() if isinstance(m, nn.Linear))
    return 2 * batch * sum(math.prod(m.weight.shape) for m in linears)
