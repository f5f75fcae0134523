"""Captures for a target, made once: each costs seconds."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")


def pointwise(x: Any) -> Any:
    return torch.relu(x + 1) * 2


@pytest.fixture(scope="session")
def pointwise_h200() -> Any:
    """A pointwise chain, compiled for the H200 from CPU tensors."""
    import tclab

    return tclab.capture(pointwise, target="h200")(torch.randn(1000))
