"""Operators without a meta kernel: what they return is known, asked of the CPU, or refused."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

import tclab
from tclab.targets import TargetError


def extern(capture: Any) -> list[str]:
    names = (k.kernel_name for k in capture.kernels if k.category == "extern")
    return [name for name in names if name.startswith("torch.ops")]


def test_a_cell_of_a_gru_is_one_call_as_on_the_gpu() -> None:
    cell = nn.GRUCell(64, 64)
    x, h = torch.randn(8, 64), torch.randn(8, 64)
    c = tclab.capture(lambda x, h: cell(torch.relu(x), h) * 2, target="h200", backward=True)(x, h)
    assert extern(c) == [
        "torch.ops.aten._thnn_fused_gru_cell.default",
        "torch.ops.aten._thnn_fused_gru_cell_backward.default",
    ]
    assert not c.gaps and not len(c.breaks)
    assert "(8, 320)" in c.wrapper_code[0]  # its workspace


def test_an_operator_that_the_cpu_has_is_a_gap_and_the_rest_is_shown() -> None:
    c = tclab.capture(lambda x: torch.geqrf(torch.relu(x))[0] * 2, target="h200")(torch.ones(8, 4))
    assert extern(c) == ["torch.ops.aten.geqrf.default"]
    assert sum(k.category != "extern" for k in c.kernels) == 2
    (gap,) = c.gaps
    assert "test_fallbacks.py" in gap.place and "no meta kernel" in gap.cause


def test_what_only_the_gpu_has_is_refused() -> None:
    args = torch.randn(5, 2, 9).log_softmax(2), torch.ones(2, 3).long()
    lengths = torch.full((2,), 5), torch.full((2,), 3)
    with pytest.raises(TargetError, match="_use_cudnn_ctc_loss"):
        tclab.capture(nn.functional.ctc_loss, target="h200")(*args, *lengths)
