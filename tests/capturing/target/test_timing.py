"""What the GPU would decide by timing: whether it would, by PyTorch's rule, and both ways of it."""

from __future__ import annotations

import logging
from typing import Any

import pytest
import torch
from torch import nn

import tclab
from tclab.capturing.target import stand_in
from tclab.capturing.target.timing import padding
from tclab.model import Kernel
from tclab.targets import TARGETS, TargetError


def rule(name: str, m: int, k: int, n: int, dtype: torch.dtype = torch.float32) -> bool:
    """PyTorch's is_mm_compute_bound as it is on a target."""
    from torch._inductor.fx_passes.pad_mm import is_mm_compute_bound

    target = TARGETS[name]
    with stand_in.standing_in(target), padding._as_on(target):
        return is_mm_compute_bound(m, k, n, dtype)


def test_most_names_are_in_no_table_and_nearly_every_product_is_timed() -> None:
    """The clock is in MHz where Triton's formula takes kHz: the balance is a thousandth."""
    assert all(rule(name, 2, 512, 1000) for name in ("h200", "h100", "a100", "l40s", "t4"))


def test_the_l4_is_in_the_table() -> None:
    """device_info.py: 30.3 TFLOP/s; 300 GB/s by its clock, 3350 by the table from 2.14 on."""
    seconds = 3350 if torch.__version__ >= "2.14" else TARGETS["l4"].clocks.bytes_per_second / 1e9
    balance = 0.5 * 1000 * 30.3 / seconds
    for m in (1, 2, 3, 64, 512, 4096):
        intensity = m * 512 * 1000 / (m * 512 + 512 * 1000 + m * 1000)
        assert rule("l4", m, 512, 1000) == (intensity > balance), m


def test_bandwidth_by_the_clock_is_that_of_the_data_sheets() -> None:
    sheets = {"h100": 3352, "a100": 2039, "l4": 300, "rtx4090": 1008, "a10": 600, "t4": 320}
    for name, gigabytes in sheets.items():
        own = TARGETS[name].clocks.bytes_per_second / 1e9
        assert own == pytest.approx(gigabytes, rel=0.01), name


class Net(nn.Module):
    """A last layer whose sizes are not aligned, below a kernel that does not care."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.head = nn.Linear(64, 64), nn.Linear(64, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(torch.relu(self.body(x))).softmax(-1)


@pytest.fixture(scope="module")
def both() -> Any:
    torch.manual_seed(0)
    model = Net().requires_grad_(False)
    logging.getLogger("torch").setLevel(logging.WARNING)
    return tclab.capture(model, target="h200")(torch.randn(8, 64))


def _way(kernel: Kernel) -> str | None:
    """The answer that a kernel belongs to; None where it is exact."""
    return ", ".join({str(timed) for timed in kernel.facts.one_of_two}) or None


def triton(capture: Any, way: str | None) -> list[str]:
    return [k.kernel_name for k in capture.kernels if k.category != "extern" and _way(k) == way]


def test_what_is_timed_is_named_with_its_line(both: Any) -> None:
    (question,) = both.timed
    assert str(question).startswith("pad: addmm of [8, 64] @ [64, 10], ")
    assert question.choice == "pad" and "test_timing.py" in question.place


def test_kernels_of_both_ways_are_exact_and_the_others_one_of_two(both: Any) -> None:
    assert any("relu" in name for name in triton(both, None))
    assert triton(both, "pad=yes") and not both.gaps
    (operator,) = {each.question.operator for k in both.kernels for each in k.facts.one_of_two}
    assert operator == "addmm of [8, 64] @ [64, 10]"


@pytest.mark.parametrize("way", ["no", "yes"])
def test_an_assumption_shows_one_way(both: Any, way: str) -> None:
    torch.manual_seed(0)
    c = tclab.capture(Net().requires_grad_(False), target="h200", assume={"pad": way})(
        torch.randn(8, 64)
    )
    assert c.timed == () and not any(k.facts.one_of_two for k in c.kernels)
    (decision,) = c.decisions
    assert (decision.choice, decision.source) == (f"pad={way}", "assumed, not timed")
    shown = [*triton(both, None), *triton(both, f"pad={way}")]
    assert sorted(triton(c, None)) == sorted(shown)


def test_each_way_goes_down_to_instructions(both: Any) -> None:
    compiled = both.compile_kernels()
    assert {k.name for k in compiled} >= set(triton(both, None) + triton(both, "pad=yes"))
    assert all("sass" in k.stages for k in compiled)
    (chain,) = both.chains()
    assert any("one of two: with pad=yes" in pane.title for pane in chain.panes)


def test_the_function_ran_once(both: Any) -> None:
    assert len(both.results) == 1 and both.result.shape == (8, 10)


@pytest.mark.parametrize("assume", [{"pad": "maybe"}, {"layout": "no"}])
def test_an_assumption_there_is_not(assume: dict[str, str]) -> None:
    with pytest.raises(TargetError, match="pad=no, pad=yes"):
        tclab.capture(torch.relu, target="h200", assume=assume)(torch.randn(8))


def test_an_aligned_product_asks_nothing() -> None:
    c = tclab.capture(lambda x, w: x @ w, target="h200")(torch.randn(8, 16), torch.randn(16, 8))
    assert c.timed == () and c.decisions == ()
