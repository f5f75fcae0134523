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
