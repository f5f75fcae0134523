"""What the forward saves for the backward, for a target as on the device itself."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

import tclab  # noqa: E402


def test_parameters_are_saved_as_they_are() -> None:
    """AOTAutograd saves a parameter at no cost, and not a view of it, if Dynamo's marks arrive."""
    layers = [torch.nn.Linear(16, 16, bias=False) for _ in range(3)]
    module = torch.nn.Sequential(layers[0], torch.nn.ReLU(), layers[1], torch.nn.ReLU(), layers[2])
    c = tclab.capture(module, target="h200")(torch.randn(4, 16))
    [output] = [node for node in c.forward[0].nodes if node.op == "output"]
    saved = str(output.args)
    assert "primals_3" in saved and "primals_4" in saved, saved
    assert "permute" not in saved
