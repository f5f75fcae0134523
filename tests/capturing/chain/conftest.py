"""Capture three small functions once, for a GPU that is not there and for the CPU."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

import tclab

sys.path.insert(0, str(Path(__file__).parent))  # tests here share two modules of this folder

import linked_functions as functions
from link_following import Captured


def _inputs(name: str) -> tuple[torch.Tensor, ...]:
    torch.manual_seed(0)
    if name == "layer_norm":
        shapes: tuple[tuple[int, ...], ...] = ((64, 256), (256,), (256,))
        return tuple(torch.randn(shape, requires_grad=True) for shape in shapes)
    return (torch.randn(64, 256),)


@pytest.fixture(scope="session")
def captured() -> Captured:
    """Return a function's capture by its name and device; each is made once."""
    made: dict[tuple[str, str], tclab.Capture] = {}

    def capture(name: str, device: str) -> tclab.Capture:
        if (name, device) not in made:
            target = None if device == "cpu" else device
            request = tclab.capture(getattr(functions, name), target=target,
                                    backward=name == "layer_norm")  # fmt: skip
            made[name, device] = request(*_inputs(name))
        return made[name, device]

    return capture
