"""What both sides of a comparison are given, and how a compile that raises is told."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tclab.workshop import catalog
from tclab.workshop.catalog.example import Example
from tclab.workshop.verify import sides
from tclab.workshop.verify.results import load


@pytest.mark.parametrize(
    "tensor",
    [
        torch.arange(6.0)[2:],
        torch.ones(2, 3).t(),
        torch.ones(1).expand(4),
        torch.ones(2).to_sparse(),
    ],
)
def test_a_copy_lies_in_memory_as_its_original(tensor: torch.Tensor) -> None:
    copy = sides.copy_to("cpu", tensor.requires_grad_())
    assert torch.equal(copy.to_dense(), tensor.to_dense())
    assert copy.is_leaf
    assert copy.requires_grad
    if tensor.layout is torch.strided:
        assert (copy.stride(), copy.storage_offset()) == (tensor.stride(), tensor.storage_offset())
        assert copy.untyped_storage().data_ptr() != tensor.untyped_storage().data_ptr()


def _refuse(x: torch.Tensor) -> torch.Tensor:
    if x.sum() != 0:  # breaks the graph: what follows runs as it is
        raise ValueError("of no use")
    return x


def _sign(x: torch.Tensor) -> torch.Tensor:
    return x.detach().sign()


@pytest.mark.parametrize(
    ("function", "status", "reason"),
    [(_refuse, "refused", "without torch.compile, too: of no use"), (_sign, "done", "")],
)
def test_what_the_function_itself_does_is_no_failure(
    function: object, status: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It raises by itself; or what it returns has no gradient."""
    example = Example("own/it", lambda: (function, (torch.ones(3, requires_grad=True),)), True)
    monkeypatch.setattr(catalog, "find", lambda name, corpus: example)
    sides.compile_and_save("own/it", "functions", "target", "h100", tmp_path)
    result = load(tmp_path, "target", "own/it")
    assert result["status"] == status, result
    assert result.get("reason", "").endswith(reason)
