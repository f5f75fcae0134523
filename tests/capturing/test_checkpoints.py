"""What a compiled backward holds of checkpointed regions."""

from __future__ import annotations

import functools

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from tclab.capturing import capture


class Block(nn.Module):
    """Adds two layers to what comes in."""

    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(8, 64), nn.Linear(64, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(nn.functional.gelu(self.up(x)))


class Twice(nn.Module):
    """Runs checkpointed blocks, once or twice, and multiplies what came out."""

    def __init__(self, times: int, block: type[nn.Module] = Block) -> None:
        super().__init__()
        self.times = times
        self.blocks = nn.ModuleList(block() for _ in range(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = []
        for shift in range(self.times):
            y = x + shift
            for block in self.blocks:
                y = checkpoint(block, y, use_reentrant=False)
            out.append(y)
        return functools.reduce(torch.mul, out).mean()


@pytest.mark.parametrize("times", [1, 2])
def test_two_traversals_hold_two_regions(times: int) -> None:
    """The last block of the first traversal is recomputed first, and used when all else is."""
    (found,) = capture(Twice(times), backward=True)(torch.ones(16, 8)).checkpoints
    assert (found.regions, found.held) == (3 * times, times)
    assert found.one >= 4 * 16 * 3 * 64  # what the backward of GELU and the second layer read
    # the kernels leave two of these values in memory: those before and after GELU
    assert found.bytes == times * 4 * 16 * 2 * 64


class Shifted(Block):
    """A block that adds a number to its input, so that its first kernel needs no product."""

    def forward(self, x: torch.Tensor, shift: float = 0.5) -> torch.Tensor:
        return x + self.down(nn.functional.silu(self.up(x + shift)))


def test_regions_are_held_that_the_scheduler_moves_to_the_front() -> None:
    """In the graph's order two regions are held at once; Inductor recomputes all of them first."""
    model = Twice(2, Shifted)
    (found,) = capture(model, backward=True)(torch.ones(16, 8)).checkpoints
    assert found.regions == 6
    assert found.held > 2


def test_nothing_is_said_without_checkpoints() -> None:
    assert capture(nn.Linear(4, 4))(torch.ones(2, 4)).checkpoints == ()
