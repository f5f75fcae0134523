"""Make captures for a target once, since each takes seconds."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")


def pointwise(x: Any) -> Any:
    return torch.relu(x + 1) * 2


@pytest.fixture(scope="session")
def pointwise_h200() -> Any:
    """Capture a pointwise chain for the H200, from CPU tensors."""
    import tclab

    return tclab.capture(pointwise, target="h200")(torch.randn(1000))


@pytest.fixture(scope="session")
def user_kernel() -> ModuleType:
    """Import the file with a Triton kernel, which is no test and in no package."""
    file = Path(__file__).with_name("user_kernel.py")
    spec = importlib.util.spec_from_file_location("user_kernel", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
