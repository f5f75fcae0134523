"""TCLAB_ANY_TORCH=1 opens this door, too. The engine's: tests/engine/test_faults.py."""

from __future__ import annotations

import pytest
import torch

import tclab
from tclab.capturing.torch_private import check
from tclab.errors import UnsupportedTorch


def doubled(x):
    return x * 2


@pytest.mark.parametrize("version", ["2.3.1+cpu", "2.16.0.dev20261101"])
def test_an_unknown_torch_is_captured_on_demand(monkeypatch, version):
    monkeypatch.setattr(torch, "__version__", version)
    with pytest.raises(UnsupportedTorch, match="knows PyTorch"):
        check.require()
    monkeypatch.setenv("TCLAB_ANY_TORCH", "1")
    check.require()
    assert len(tclab.capture(doubled, backend="eager")(torch.ones(3)).graphs) == 1
