"""The examples of functions: each one runs without a compiler, and its gradient with it."""

from __future__ import annotations

from math import isfinite

import pytest
import torch
from torch.utils import _pytree as pytree

from tclab.catalog import examples

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
