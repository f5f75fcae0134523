"""The examples of functions: each one runs without a compiler, and its gradient with it."""

from __future__ import annotations

from math import isfinite

import pytest
import torch
from torch.utils import _pytree as pytree

from tclab.workshop.catalog import examples

EXAMPLES = examples()
#: Names "cuda" in its code, so it runs where there is a GPU.
ON_A_GPU_ALONE = "pointwise/says_cuda"


def tensors(value: object) -> list[torch.Tensor]:
    return [leaf for leaf in pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)]


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.filterwarnings("ignore:.*Disabling autocast")
def test_an_example_runs_in_eager_mode(name: str) -> None:
    torch.manual_seed(0)
    example = EXAMPLES[name]
    fn, args = example.make()
    if name == ON_A_GPU_ALONE and not torch.cuda.is_available():
        # A build for CPUs asserts that it has no CUDA; one for CUDA misses the driver.
        with pytest.raises((AssertionError, RuntimeError), match=r"CUDA|NVIDIA driver"):
            fn(*args)
        return
    results = tensors(fn(*args)) or tensors(args)  # an optimizer's step changes its arguments
    assert results
    assert not any(each.isnan().any() for each in results if each.is_floating_point())
    if example.backward:
        total = torch.stack([r.double().sum() for r in results if r.requires_grad]).sum()
        total.backward()
        assert isfinite(total.detach())


def test_samples_of_operators_are_functions_of_their_tensors(monkeypatch) -> None:
    from torch.testing._internal.common_methods_invocations import op_db

    from tclab.workshop.catalog import operators

    few = [each for each in op_db if each.formatted_name in ("addmm", "chunk", "argmax", "eye")]
    monkeypatch.setattr(operators, "_database", lambda: few)
    listed = examples("operators")
    gradients = {name.rpartition("-")[0] for name, each in listed.items() if each.backward}
    assert {"operators/chunk-float32", "operators/addmm-bfloat16"} <= gradients
    assert not gradients & {"operators/argmax-float32", "operators/chunk-int64"}
    for name in (
        "operators/addmm-float32-0",
        "operators/addmm-float32-2",
        "operators/chunk-bool-1",
    ):
        fn, args = listed[name].make()
        assert tensors(fn(*args)), name
    _, (_, _, keywords) = listed["operators/eye-float32-0"].make()
    assert keywords["device"] == "cuda"
