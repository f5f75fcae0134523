"""What both sides of a comparison are given, and how a compile that raises is told."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tclab.capturing.target.timing import combinations
from tclab.workshop import catalog
from tclab.workshop.catalog.example import Example
from tclab.workshop.verify import running, sides
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


@pytest.mark.parametrize("kind", [RuntimeError, ValueError])
def test_on_the_gpu_a_function_may_raise_in_other_words(
    kind: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dynamo's words for an argument on a wrong device are not those of the operator."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    own = {"cuda": kind("expected it on the CPU"), "cpu": kind("expected it on the CPU")}
    monkeypatch.setattr(sides, "_find_eager_error", lambda name, corpus, device: own[device])
    error = torch._dynamo.exc.TorchRuntimeError("must be on CPU")
    told = {
        s: sides._describe_error("f", "operators", s, error)["status"] for s in ("gpu", "target")
    }
    assert told == {"gpu": "refused", "target": "failed"}


def test_combinations_that_are_not_compiled_are_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    example = Example("own/mm", lambda: (torch.mm, (torch.ones(5, 5), torch.ones(5, 3))), False)
    all_seen = sides.compile_for_target(example, "h100")
    monkeypatch.setattr(combinations, "MOST_COMPILES", 2)
    limited = sides.compile_for_target(example, "h100")
    assert len(all_seen["variants"]) == len(limited["variants"]) == 1
    assert all_seen["gaps"] == []
    assert "more combinations" in limited["gaps"][0]


@pytest.mark.parametrize("side", ["gpu", "target"])
def test_no_graph_comes_from_a_cache(side: str) -> None:
    """There, it would have the names of the function that was compiled first."""
    code = (
        "import json, torch._inductor.config as i, torch._functorch.config as f;"
        "print(json.dumps([i.fx_graph_cache, f.enable_autograd_cache, i.force_disable_caches]))"
    )
    variables = running._process_variables(side)
    run = subprocess.run(
        [sys.executable, "-c", code], env=variables, check=True, capture_output=True
    )
    assert json.loads(run.stdout) == [False, False, False]
