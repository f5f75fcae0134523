"""What a measurement says of its rounds: a verdict only where they agree."""

from __future__ import annotations

import json
import random

import pytest

from tclab.model import (
    FASTER,
    SAME,
    SLOWER,
    UNSTEADY,
    GraphRun,
    Measurement,
    ModeTimes,
    PassMemory,
    PassProfile,
    SourceLine,
    decode,
    encode,
)
from tclab.render.report import words

EAGER = ModeTimes("eager", (1.0,) * 11, first=1.0)


def compiled(*seconds: float, first: float = 5.0) -> tuple[Measurement, ModeTimes, PassProfile]:
    mode = ModeTimes("default", seconds, first=first)
    return Measurement("CPU", 2, (EAGER, mode)), mode


@pytest.mark.parametrize(
    ("seconds", "verdict"),
    [
        ((0.5,) * 11, FASTER),
        ((0.5,) * 10 + (3.0,), FASTER),  # one round is disturbed
        ((0.5,) * 9 + (3.0, 3.0), UNSTEADY),
        ((2.0,) * 11, SLOWER),
        ((2.0,) * 10 + (0.5,), SLOWER),
        ((1.01, 0.99) * 5 + (1.0,), SAME),
        ((0.98,) * 11, SAME),  # nearer to eager than what the rounds can tell
        ((1.04,) * 11, SAME),  # two processes of the same code differ by as much
        ((0.7, 1.4) * 5 + (1.0,), UNSTEADY),
        ((0.5,) * 4, UNSTEADY),  # too few rounds
    ],
)
def test_a_verdict_needs_rounds_that_agree(seconds: tuple[float, ...], verdict: str) -> None:
    measured, mode = compiled(*seconds)
    assert measured.verdict(mode) == verdict


@pytest.mark.parametrize(
    ("seconds", "waited", "verdict"),
    [
        (0.5, 0.0, FASTER),
        (1.0, 0.0, SAME),
        (1.0, 0.5, UNSTEADY),  # faster, but other programs had the core
        (2.0, 1.0, UNSTEADY),
        (2.0, 0.1, SLOWER),
    ],
)
def test_what_waits_for_a_core_make_of_a_verdict_is_none(
    seconds: float, waited: float, verdict: str
) -> None:
    mode = ModeTimes("default", (seconds,) * 11, waited=(waited,) * 11)
    measured = Measurement("CPU", 2, (EAGER, mode))
    assert measured.verdict(mode) == verdict
    said = "other programs had the cores in 50% of it" in words.measurement(measured)
    assert said == (verdict == UNSTEADY)


def test_noise_alone_is_seldom_a_verdict() -> None:
    """Two modes that are equally fast, on a machine that makes each round up to four times as long:
    a verdict other than *unsteady* is wrong.
    """
    rng = random.Random(3)
    wrong = 0
    for _ in range(2000):
        eager = ModeTimes("eager", tuple(1 + 3 * rng.random() for _ in range(11)))
        mode = ModeTimes("default", tuple(1 + 3 * rng.random() for _ in range(11)))
        measured = Measurement("CPU", 2, (eager, mode))
        wrong += measured.verdict(mode) in (FASTER, SLOWER)
    assert wrong < 0.02 * 2000


def test_a_compile_pays_after_the_calls_that_make_up_for_it() -> None:
    measured, mode = compiled(*(0.5,) * 11, first=5.0)
    assert measured.break_even(mode) == 8  # four seconds more, half a second less a call
    for seconds in (1.0, 2.0):
        measured, mode = compiled(*(seconds,) * 11)
        assert measured.break_even(mode) is None


def test_without_eager_there_is_nothing_to_compare() -> None:
    failed = Measurement(modes=(ModeTimes("eager", problem="ValueError: no"),), problem="eager: no")
    assert failed.eager is None and failed.compiled == ()


@pytest.mark.parametrize(
    ("busy", "share", "waits"),
    [(None, None, False), (0.3, 0.3, True), (0.7, 0.7, False)],
)
def test_a_gpu_that_works_in_a_small_part_of_a_call_waits(
    busy: float | None, share: float | None, *, waits: bool
) -> None:
    mode = ModeTimes("default", (1.0,) * 11)
    measured = Measurement("H100", 2, (EAGER, mode), profile=PassProfile((), busy))
    assert (measured.busy_share, measured.waits_for_host) == (share, waits)
    assert words.measurement(measured).count("The GPU works in") == (busy is not None)
    assert words.measurement(measured).endswith("it waits for the host.") == waits


def test_the_json_of_a_measurement_has_all_of_it() -> None:
    lines = ((SourceLine("f.py", 3, "y = x + 1", "f"), 512),)
    memory = PassMemory(1024, saved=512, kept=2048, lines=lines)
    modes = (
        ModeTimes("eager", (1e-3,) * 3, 0.5, 0.9, memory),
        ModeTimes("default", problem="ValueError: no"),
    )
    profile = PassProfile((GraphRun((("cpp_fused_add_0", 2e-6),)),), 0.5)
    measured = Measurement("H200", 2, modes, "default: ValueError: no", profile, timed_out=True)
    stored = json.loads(json.dumps(encode(measured)))
    assert decode(stored) == measured
    assert stored["$kind"] == "measurement"
    assert stored["modes"][0]["memory"]["lines"][0][1] == 512
