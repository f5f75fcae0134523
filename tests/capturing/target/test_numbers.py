"""Tensors of a single number, made without ``device=``: on the CPU, as in a program for a GPU."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch

import tclab


def names(capture: Any) -> list[str]:
    return [k.kernel_name for k in capture.kernels if k.category != "extern"]


def test_a_number_is_made_on_the_cpu_and_copied_where_the_code_says() -> None:
    def scaled(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x / torch.sqrt(torch.tensor(64.0)), torch.tensor(3).to(x.device)

    x = torch.randn(8, 4)
    c = tclab.capture(scaled, target="h200")(x)
    assert names(c) == ["triton_poi_fused_div_sqrt_0", "triton_poi_fused__to_copy_1"]
    (root,) = re.findall(r"full\.default\]\(args = \(\[\], 8\.0\).*", c.wrapper_code[0])
    assert "device: cpu" in root
    assert torch.equal(c.result[0], x / 8)
    assert len(c.compile_kernels()) == 2


def test_a_number_s_value_is_known_while_tracing() -> None:
    def shifted(x: torch.Tensor) -> torch.Tensor:
        return x + torch.tensor(3).to(x.device).item()

    x = torch.randn(8)
    c = tclab.capture(shifted, target="h200", fullgraph=True)(x)
    assert names(c) == ["triton_poi_fused_add_0"]


def _stacked(x: torch.Tensor) -> torch.Tensor:
    return torch.stack([torch.tensor(0.0), x.sum()])


def _added(x: torch.Tensor) -> torch.Tensor:
    total = torch.zeros(())
    total += x.sum()
    return total


@pytest.mark.parametrize("fn", [_stacked, _added])
def test_what_a_gpu_would_not_take_is_all_on_the_target(fn: Any) -> None:
    x = torch.randn(64)
    c = tclab.capture(fn, target="h200")(x)
    assert any(name.startswith("triton_per_fused") for name in names(c))
    assert torch.equal(c.result, fn(x))


def test_constants_that_pytorch_s_own_python_makes_are_made_on_the_target() -> None:
    def unravel(x: torch.Tensor) -> Any:
        return torch.unravel_index(x, (4, 4))  # whole in Dynamo's graph: two constants on x.device

    x = torch.arange(6)
    c = tclab.capture(unravel, target="h200")(x)
    assert [n for n in names(c) if "lift_fresh" in n]
    assert not [n for n in names(c) if "_to_copy" in n]
    assert all(torch.equal(ours, theirs) for ours, theirs in zip(c.result, unravel(x)))


# ------------------------------------------------------------------------------ lists as an index


def test_a_list_as_an_index_is_a_tensor_of_the_target() -> None:
    """PyTorch makes it where x is, in C++, and lifts it: the GPU's kernel is named for that."""
    c = tclab.capture(lambda x: x[..., [-2], :] * 2, target="h200")(torch.randn(4, 8, 3, 16))
    assert [k.kernel_name for k in c.kernels] == ["triton_poi_fused_index_lift_fresh_mul_0"]
    assert not c.gaps
    x = torch.randn(4, 8, 3, 16)
    assert torch.equal(
        tclab.capture(lambda x: x[[0, 2], 1:], target="h200")(x).result, x[[0, 2], 1:]
    )


# ------------------------------------------------------------------- brought to the target


def buckets(x: torch.Tensor) -> torch.Tensor:
    """As some models make positions: on the CPU, in a program for a GPU, and then moved."""
    steps = torch.log(torch.arange(16).float() / 8) / 2.5
    return x + steps.to(x.device)


def test_what_is_brought_to_the_target_was_made_on_the_cpu() -> None:
    """Inductor divides a tensor of the CPU as it stands there, and multiplies one of the GPU by
    the reciprocal; either may be written into a kernel of the GPU, which is then no gap.
    """
    c = tclab.capture(buckets, target="h200")(torch.randn(4, 16))
    there = tclab.capture(lambda x: x + torch.log(torch.arange(16).float() / 8) / 2.5,
                          target="h200")(torch.randn(4, 16))  # fmt: skip
    (own,), (other,) = ([k.code for k in each.kernels] for each in (c, there))
    assert " / tmp" in own and " / tmp" not in other
    assert not c.on_host and not there.on_host


def test_a_kernel_of_the_host_is_named_and_no_gap() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return x + torch.arange(16).float().cumsum(0).to(x.device)

    c = tclab.capture(function, target="h200")(torch.randn(4, 16))
    assert not c.gaps
    assert any(name == "aten.cumsum.default" and "cumsum(0)" in line for name, line in c.on_host)
