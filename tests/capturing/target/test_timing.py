"""What the GPU would decide by timing: whether it would, by PyTorch's rule, and both ways of it."""

from __future__ import annotations

import logging
import re
from collections import Counter
from typing import Any

import pytest
import torch
from torch import nn

import tclab
from tclab.capturing.target import stand_in
from tclab.capturing.target.timing import alternatives, measured, padding
from tclab.capturing.target.timing.combinations import explore_combinations
from tclab.capturing.target.timing.measured import Measurements, Ratio
from tclab.errors import BadRequest
from tclab.fixture import compiling
from tclab.model import Kernel
from tclab.targets import TARGETS, TargetError
from tclab.workshop.cli.record_choices import record_choices


def rule(name: str, m: int, k: int, n: int, dtype: torch.dtype = torch.float32) -> bool:
    """PyTorch's is_mm_compute_bound as it is on a target."""
    from torch._inductor.fx_passes.pad_mm import is_mm_compute_bound

    target = TARGETS[name]
    with stand_in.fake_gpu(target), padding._patching_for_rule(target):
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
    sheets = {
        "h100": 3352, "h100pcie": 2039, "gh200": 4000, "a100": 2039, "b200": 7672, "l4": 300,
        "rtx4090": 1008, "rtx4080": 717, "rtx4070": 504, "rtx4060ti": 288, "rtx6000ada": 960,
        "rtx5090": 1792, "rtx5080": 960, "rtxpro6000": 1792, "a10": 600, "a6000": 768, "a40": 696,
        "rtx3090": 936, "t4": 320, "v100": 900, "orin": 204.8, "thor": 273, "gb10": 273,
    }  # fmt: skip
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
    return tclab.capture(model, target="h200", assume={"pad": "both"})(torch.randn(8, 64))


def _way(kernel: Kernel) -> str | None:
    """Return the answer that a kernel belongs to; None where it is exact."""
    return ", ".join({str(timed) for timed in kernel.facts.open}) or None


def triton(capture: Any, way: str | None) -> list[str]:
    return [k.kernel_name for k in capture.kernels if k.category != "extern" and _way(k) == way]


def test_what_is_timed_is_named_with_its_line(both: Any) -> None:
    (question,) = both.timed
    assert str(question).startswith("pad: addmm of [8, 64] @ [64, 10], ")
    assert question.choice == "pad" and "test_timing.py" in question.place


def test_kernels_of_both_ways_are_exact_and_the_others_are_open(both: Any) -> None:
    assert any("relu" in name for name in triton(both, None))
    assert triton(both, "pad=yes") and not both.gaps
    (operator,) = {each.question.operator for k in both.kernels for each in k.facts.open}
    assert operator == "addmm of [8, 64] @ [64, 10]"


@pytest.mark.parametrize("way", ["no", "yes"])
def test_an_assumption_shows_one_way(both: Any, way: str) -> None:
    torch.manual_seed(0)
    c = tclab.capture(Net().requires_grad_(False), target="h200", assume={"pad": way})(
        torch.randn(8, 64)
    )
    assert c.timed == () and not any(k.facts.open for k in c.kernels)
    (decision,) = c.decisions
    assert (decision.choice, decision.source) == (f"pad={way}", "assumed, not timed")
    shown = [*triton(both, None), *triton(both, f"pad={way}")]
    assert sorted(triton(c, None)) == sorted(shown)


def test_each_way_goes_down_to_instructions(both: Any) -> None:
    compiled = both.compile_kernels()
    assert {k.name for k in compiled} >= set(triton(both, None) + triton(both, "pad=yes"))
    assert all("sass" in k.stages for k in compiled)
    (chain,) = both.chains()
    assert any("open: with pad=yes" in pane.title for pane in chain.panes)


def test_the_function_ran_once(both: Any) -> None:
    assert len(both.results) == 1 and both.result.shape == (8, 10)


def two_products(x: Any, v: Any, y: Any, w: Any) -> torch.Tensor:
    """Both have 30 columns, which Inductor pads to 32: their sum reads what each of them left."""
    return torch.relu(x @ v + y @ w)


PRODUCTS = (torch.randn(8, 64), torch.randn(64, 30), torch.randn(8, 48), torch.randn(48, 30))


@pytest.fixture(scope="module")
def neighbours() -> Any:
    return tclab.capture(two_products, target="h200", assume={"pad": "both"})(*PRODUCTS)


def fused(capture: Any) -> dict[frozenset[tuple[str, str]], str]:
    """Return the kernels that add both products: by the answers they need, without their number."""
    kernels = [k for k in capture.kernels if "relu" in k.kernel_name]
    return {
        frozenset((each.question.operator[-8:], each.answer) for each in k.facts.open):
        alternatives.unnumbered_code(k) for k in kernels
    }  # fmt: skip


def test_a_kernel_beside_two_products_is_shown_in_each_combination(neighbours: Any) -> None:
    operators = {question.operator[-8:] for question in neighbours.timed}
    ways = fused(neighbours)
    assert operators == {"[64, 30]", "[48, 30]"} and len(set(ways.values())) == 4
    for first in ("no", "yes"):
        for second in ("no", "yes"):
            assert frozenset({("[64, 30]", first), ("[48, 30]", second)}) in ways


@pytest.mark.parametrize("first", ["no", "yes"])
@pytest.mark.parametrize("second", ["no", "yes"])
def test_two_products_decided_differently(neighbours: Any, first: str, second: str) -> None:
    """What Inductor writes when it pads one and not the other is among what is shown."""
    assume = {"pad: mm of [8, 64]": first, "pad: mm of [8, 48]": second}
    c = tclab.capture(two_products, target="h200", assume=assume)(*PRODUCTS)
    assert not c.timed
    (own,) = [alternatives.unnumbered_code(k) for k in c.kernels if "relu" in k.kernel_name]
    assert own == fused(neighbours)[frozenset({("[64, 30]", first), ("[48, 30]", second)})]


def measured_as(monkeypatch: Any, capture: Any, **ratios: tuple[float, float, float]) -> None:
    """Let the products of a capture be measured: by their columns and rows, ``k64=(1, 1, 1)``."""
    of = {name.removeprefix("k"): Ratio(*spread) for name, spread in ratios.items()}
    table = {q.key: of[k] for q in capture.timed for k in of if f"[{k}, 30]" in q.operator}
    there = Measurements("NVIDIA H200", "2026-11-23", table)
    monkeypatch.setattr(measured, "measurements_for", lambda target: there)


def test_a_measured_choice_decides_and_says_so(neighbours: Any, monkeypatch: Any) -> None:
    measured_as(monkeypatch, neighbours, k64=(1.4, 1.45, 1.5), k48=(0.88, 0.9, 0.92))
    c = tclab.capture(two_products, target="h200")(*PRODUCTS)
    assert not c.timed and not any(k.facts.open for k in c.kernels)
    (kernel,) = [k for k in c.kernels if "relu" in k.kernel_name]
    decided = frozenset({("[64, 30]", "yes"), ("[48, 30]", "no")})
    assert alternatives.unnumbered_code(kernel) == fused(neighbours)[decided]
    assert kernel.facts.measured == "as measured on an NVIDIA H200 on 2026-11-23"
    assert {(d.choice, d.source) for d in c.decisions} == {
        ("pad=yes", kernel.facts.measured), ("pad=no", kernel.facts.measured)
    }  # fmt: skip


def test_a_choice_within_its_spread_stays_open(neighbours: Any, monkeypatch: Any) -> None:
    measured_as(monkeypatch, neighbours, k64=(0.9, 1.05, 1.2), k48=(0.88, 0.9, 0.92))
    c = tclab.capture(two_products, target="h200")(*PRODUCTS)
    (question,) = c.timed
    assert question.operator.endswith("[64, 30]")
    (kernel,) = [k for k in c.kernels if "relu" in k.kernel_name]
    assert kernel.facts.measured
    assert [(str(a), a.question) for a in kernel.facts.open] == [("pad=no", question)]
    assert question.doubt.startswith("without padding it took 1.05 (0.90 to 1.20) times as long")


@pytest.mark.parametrize(
    ("spread", "answer"),
    [((0.8, 0.9, 0.95), "no"), ((1.3, 1.4, 1.45), "yes"), ((0.9, 1.0, 1.2), ""),
     ((0.99, 1.0, 1.08), ""), ((1.11, 1.15, 1.2), "")],
)  # fmt: skip
def test_how_far_from_the_limit_decides(spread: tuple[float, float, float], answer: str) -> None:
    assert Ratio(*spread).answer == answer


def test_of_each_recorded_product_it_is_true_why_it_stays_open() -> None:
    """The help of the command that records them says the same rule."""
    recorded = measured._read_recorded("h200-torch2.11")
    opened = [key for key in recorded.ratios if not recorded.answer(key)]
    for key in opened:
        ratio, doubt = recorded.ratios[key], recorded.doubt(key)
        if doubt.endswith("within these timings"):
            assert ratio.least <= measured.PADS_ABOVE < ratio.most
        else:
            gap, width = map(float, re.findall(r"([\d.]+) from .* vary by ([\d.]+)", doubt)[0])
            assert 0 < gap < width == round(ratio.most - ratio.least, 2)
            assert gap == round(measured.PADS_ABOVE - ratio.most, 2)
    assert {recorded.doubt(key).endswith("within these timings") for key in opened} == {True, False}
    for ratio in recorded.ratios.values():
        gap = max(ratio.least - measured.PADS_ABOVE, measured.PADS_ABOVE - ratio.most)
        assert bool(ratio.answer) == (gap > ratio.most - ratio.least)
    said = " ".join(str(record_choices.help).split())
    assert "open unless its timings lie further from the limit than they vary" in said


def test_which_combinations_are_compiled() -> None:
    """Kernels as the decisions they hang on: only those that share a kernel are combined."""
    compiled: list[frozenset[int]] = []
    hangs = [{0, 1}, {1, 2}, {3}, {4}]

    def kernels(flipped: frozenset[int]) -> Counter[str]:
        compiled.append(flipped)
        return Counter(f"{sorted(on)} {sorted(on & flipped)}" for on in hangs)

    explore_combinations(5, kernels)
    pairs = [set(flipped) for flipped in compiled if len(flipped) == 2]
    assert pairs == [{0, 1}, {1, 2}] and len(compiled) == 1 + 5 + 2 + 1


def test_decisions_that_meet_only_when_both_are_taken_are_found() -> None:
    def kernels(flipped: frozenset[int]) -> Counter[str]:
        return Counter([f"{number}{number in flipped}" for number in range(4)]
                       + ["copy"] * ({1, 2} <= flipped))  # fmt: skip

    assert frozenset({1, 2}) in explore_combinations(4, kernels)


def test_unmeasured_products_are_not_padded_and_their_kernels_are_open(neighbours: Any) -> None:
    """One way is shown and counted: that without padding, which is likely."""
    likely = tclab.capture(two_products, target="h200")(*PRODUCTS)
    unpadded = tclab.capture(two_products, target="h200", assume={"pad": "no"})(*PRODUCTS)
    codes = [[alternatives.unnumbered_code(k) for k in c.kernels] for c in (likely, unpadded)]
    assert codes[0] == codes[1] and likely.timed == neighbours.timed
    assert likely.overview == unpadded.overview == neighbours.overview
    for kernel in likely.kernels:
        assert {str(a) for a in kernel.facts.open} == {"pad=no"}, kernel.title
        assert {a.question for a in kernel.facts.open} == {*likely.timed}
    assert [k.facts.is_alternative for k in neighbours.kernels].count(False) == len(codes[0])


def test_a_kernel_that_no_padding_changes_is_not_open() -> None:
    c = tclab.capture(Net().requires_grad_(False), target="h200")(torch.randn(8, 64))
    opened = {bool(k.facts.open) for k in c.kernels if "relu" in k.kernel_name}
    assert opened == {False} and any(k.facts.open for k in c.kernels)


def test_one_product_can_be_shown_both_ways() -> None:
    assume = {"pad: mm of [8, 64]": "both"}
    c = tclab.capture(two_products, target="h200", assume=assume)(*PRODUCTS)
    ways = {(a.question.operator[-8:], a.answer) for k in c.kernels for a in k.facts.open}
    assert ways == {("[64, 30]", "no"), ("[64, 30]", "yes"), ("[48, 30]", "no")}


@pytest.mark.parametrize("backward", [False, True])
def test_products_of_gradients_are_asked_for_with_backward_only(backward: bool) -> None:
    """The joint graph holds them in any case: [64, 8] @ [8, 10] is the gradient of the weight."""
    c = tclab.capture(Net(), target="h200", backward=backward)(torch.randn(8, 64))
    asked = {q.operator for q in c.timed}
    assert "addmm of [8, 64] @ [64, 10]" in asked
    assert bool(asked - {"addmm of [8, 64] @ [64, 10]"}) == backward


@pytest.mark.parametrize("assume", [{"pad": "maybe"}, {"layout": "no"}])
def test_an_assumption_there_is_not(assume: dict[str, str]) -> None:
    with pytest.raises(TargetError, match="pad=no, pad=yes"):
        tclab.capture(torch.relu, target="h200", assume=assume)(torch.randn(8))


@pytest.mark.parametrize("name", ["pad: mm of [9, 9]", "pad: bmm"])
def test_an_assumption_on_a_product_there_is_not(name: str) -> None:
    with pytest.raises(BadRequest) as error:
        tclab.capture(two_products, target="h200", assume={name: "yes"})(*PRODUCTS)
    assert f"assume {name}=yes: no matrix product" in str(error.value)
    first, second = re.findall(r"'(pad: mm of [^']+)'", error.value.next_step)
    c = tclab.capture(two_products, target="h200", assume={first: "yes", second: "no"})(*PRODUCTS)
    assert not c.timed and len(c.decisions) == 2


def test_where_nothing_is_timed_no_product_can_be_assumed() -> None:
    with pytest.raises(BadRequest, match="leave it out"):
        tclab.capture(torch.relu, target="h200", assume={"pad: mm": "no"})(torch.randn(8))


def test_an_aligned_product_asks_nothing() -> None:
    c = tclab.capture(lambda x, w: x @ w, target="h200")(torch.randn(8, 16), torch.randn(16, 8))
    assert c.timed == () and c.decisions == ()


@pytest.mark.parametrize("assume", [{}, {"pad": "both"}])
def test_a_test_expects_the_kernels_of_one_way(assume: dict[str, str]) -> None:
    """The fixture of the plugin compiles so: `compiled(f, x, target=…, assume=…).expect(…)`."""
    torch.manual_seed(0)
    model = Net().requires_grad_(False)
    counted = [
        compiling.compile_for_test(
            model, [(torch.randn(8, 64),)], level="kernels", target="h200",
            options={"assume": fixed} if fixed else {},
        ).snapshot
        for fixed in (assume, {"pad": "no"})
    ]  # fmt: skip
    assert len(counted[0].kernels) == len(counted[1].kernels)
    assert counted[0].library_calls == counted[1].library_calls
