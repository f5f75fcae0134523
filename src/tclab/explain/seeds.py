"""Seed random numbers for a block, and restore the process's random state afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def seeded() -> Iterator[None]:
    """Seed PyTorch with 0 during the block. Afterwards PyTorch's random numbers continue as
    before.
    """
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        yield
