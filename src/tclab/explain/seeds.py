"""Random numbers: the same in each run, and the process's own left alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def seeded() -> Iterator[None]:
    """Seed 0 for the length of the block; afterwards PyTorch's random numbers go on as before."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        yield
