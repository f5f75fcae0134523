"""The project's own use: three whole models have no break, and the guards that they had."""

from __future__ import annotations

import pytest
import torch

from tclab.catalog.models.whole import MODELS

pytestmark = pytest.mark.skipif(
    tuple(map(int, torch.__version__.split(".")[:2])) < (2, 13),
    reason="The project's own files begin with PyTorch 2.13",
)


@pytest.mark.parametrize("name", MODELS)
def test_model(name, compiled) -> None:
    model, arguments = MODELS[name]()
    c = compiled(model, *arguments, level="dynamo")
    c.expect(breaks=0, recompiles=0)
    c.matches()
