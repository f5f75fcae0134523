"""Rates of the targets, against the TFLOPS of NVIDIA's datasheets (dense)."""

from __future__ import annotations

import pytest

from tclab import targets

#: Target, format, TFLOPS of the datasheet, and the clock in MHz that the datasheet takes for them.
DATASHEETS = [
    ("a100", "f16", 312, 1410), ("a100", "tf32", 156, 1410), ("a100", "f32", 19.5, 1410),
    ("a100", "f64", 19.5, 1410), ("a100", "i8", 624, 1410),
    ("a30", "f16", 165, 1440), ("a30", "tf32", 82, 1440), ("a30", "f32", 10.3, 1440),
    ("a30", "f64", 10.3, 1440), ("a30", "i8", 330, 1440),
    ("h100", "f16", 989.4, 1830), ("h100", "tf32", 494.7, 1830), ("h100", "f32", 66.9, 1980),
    ("h100", "f64", 66.9, 1980), ("h100", "f8", 1978.9, 1830),
    ("h200", "f16", 989.4, 1830), ("h200", "f32", 66.9, 1980),
    ("l40s", "f16", 362.05, 2490), ("l40s", "tf32", 183, 2520), ("l40s", "f32", 91.6, 2520),
    ("l40s", "f8", 733, 2520), ("l4", "f16", 121, 2040), ("l4", "f32", 30.3, 2040),
    ("a10", "f16", 125, 1695), ("a10", "tf32", 62.5, 1695), ("a10", "f32", 31.2, 1695),
    ("a10", "i8", 250, 1695),
    ("t4", "f16", 65, 1590), ("t4", "f32", 8.1, 1590), ("t4", "i8", 130, 1590),
    ("b200", "f16", 2250, 1860), ("b200", "f32", 75, 1965), ("b200", "f8", 4500, 1860),
    ("v100", "f16", 125, 1530), ("v100", "f32", 15.7, 1530), ("v100", "f64", 7.8, 1530),
    ("a6000", "f16", 154.8, 1800), ("a6000", "f32", 38.7, 1800), ("a40", "f16", 149.7, 1740),
    ("a40", "i8", 299.3, 1740), ("rtx6000ada", "f16", 364.2, 2505),
    ("rtx6000ada", "f32", 91.1, 2505), ("h100nvl", "f16", 835.5, 1545),
    ("h100pcie", "f16", 756, 1620), ("h100pcie", "f32", 51.2, 1755),
    ("h100nvl", "f32", 60, 1785), ("gh200", "f16", 989.4, 1830), ("gh200", "f32", 66.9, 1980),
    ("b300", "f16", 2250, 1860), ("b300", "f8", 4500, 1860), ("b300", "f32", 75, 1980),
    ("rtxpro6000", "f16", 503.8, 2617), ("rtxpro6000", "f32", 126, 2617),
    ("orin", "f32", 5.3, 1300), ("orin", "i8", 85, 1300), ("thor", "f32", 8.06, 1575),
    ("thor", "f8", 517, 1575), ("gb10", "f32", 31, 2525),
    # GeForce: half where the products are added up in float32
    ("rtx4090", "f16", 165.2, 2520), ("rtx4090", "tf32", 82.6, 2520),
    ("rtx4090", "f32", 82.6, 2520), ("rtx4090", "f8", 330.3, 2520),
    ("rtx4090", "i8", 660.6, 2520),
    ("rtx3090", "f16", 71.2, 1695), ("rtx3090", "f32", 35.6, 1695), ("rtx3090", "i8", 284.7, 1695),
    ("rtx4080", "f16", 97.5, 2505), ("rtx4080", "f32", 48.7, 2505), ("rtx4070", "f32", 29.1, 2475),
    ("rtx4060ti", "f32", 22.06, 2535), ("rtx5080", "f16", 112.6, 2617),
    ("rtx5080", "f32", 56.3, 2617),
    ("rtx5090", "f16", 209.5, 2407), ("rtx5090", "f32", 104.8, 2407), ("rtx5090", "f8", 419, 2407),
    ("rtx5090", "i8", 838, 2407),
]  # fmt: skip


@pytest.mark.parametrize(("name", "operands", "tflops", "clock"), DATASHEETS)
def test_a_rate_is_the_datasheets_at_its_clock(
    name: str, operands: str, tflops: float, clock: int
) -> None:
    target = targets.get(name)
    rate = target.operations_per_second(operands)
    assert rate is not None
    assert rate * clock / target.clocks.multiprocessor == pytest.approx(tflops * 1e12, rel=0.015)
    assert rate >= tflops * 1e12 * 0.99  # a floor takes the highest clock


def test_a_format_that_a_card_lacks_has_no_rate() -> None:
    assert targets.get("t4").operations_per_second("tf32") is None
    assert targets.get("a100").operations_per_second("f8") is None
    assert targets.get("h20").operations_per_second("f16") is None, "none was published"


def test_every_target_has_rates_and_is_found_by_its_devices_name() -> None:
    for target in targets.TARGETS.values():
        assert target.operations_per_second("f32")
        assert target.operations_per_second("f16") or target.name == "h20"
        assert targets.find_by_device(target.device) == target
    assert targets.find_by_device("a GPU that nobody knows") is None


def test_l2_gives_more_than_the_white_paper_of_the_a100_says() -> None:
    a100 = targets.get("a100")  # 5120 bytes per cycle
    assert a100.l2_bytes_per_second >= 5120 * 1.41e9
