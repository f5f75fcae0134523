"""The examples of functions: each one runs without a compiler, and its gradient with it."""

from __future__ import annotations

from math import isfinite

import pytest
import torch
from torch.utils import _pytree as pytree

from tclab.workshop.catalog import examples, find

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
    from tclab.workshop.catalog import operators

    known = operators._load_database()
    few = {name: known[name] for name in ("addmm", "chunk", "argmax", "eye", "bmm")}
    monkeypatch.setattr(operators, "_load_database", lambda: few)
    listed = examples("operators")
    gradients = {name.rpartition("-")[0] for name, each in listed.items() if each.backward}
    assert {"operators/chunk-float32", "operators/addmm-bfloat16"} <= gradients
    assert "operators/bmm-bfloat16" in gradients  # a GPU has it, whether there is one or not
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


def test_a_sample_is_found_without_the_list_and_drawn_alike_each_time() -> None:
    """The margin of this loss is drawn by Python's `random`."""
    name = "operators/nn_functional_cosine_embedding_loss-float32-1"
    first, second = (find(name, "operators").make()[1] for _ in range(2))
    assert first[2]["margin"] == second[2]["margin"]
    pairs = zip(tensors(first), tensors(second), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)
