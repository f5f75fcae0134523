"""Lab 5: measure a time with its spread and a checked speed-up; find when compiling pays."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence

from tclab.site.labs.exercise import Answer, Exercise, RandomInputs
from tclab.site.labs.exercises.sleeping_call import SleepingCall

# --------------------------------------------------------------------------- measure

measure = Exercise("measure", "A time with its spread")


def _measure(answer: Answer, seconds: Callable[[int], float]) -> tuple[list[float], list[float]]:
    call = SleepingCall(seconds)
    result = answer(call)
    assert isinstance(result, (tuple, list)), f"it returned {result!r}, not three numbers"
    assert len(result) == 3, f"it returned {len(result)} things, not (median, low, high)"
    return [float(value) for value in result], call.took


@measure.step(
    "three",
    "returns a median between a low and a high",
    "What does your function return, and in which order?",
    "Return (median, low, high), seconds of a call; low and high are quartiles, or the extremes.",
)
def orders_three_numbers(answer: Answer, random_inputs: RandomInputs) -> None:
    (median, low, high), _ = _measure(answer, lambda n: 0.002)
    assert 0 < low <= median <= high, f"it returned {median:g}, {low:g}, {high:g}"


@measure.step(
    "warm-up",
    "leaves the first calls out",
    "What is in the first call of a compiled function that is in no later one?",
    "Call a few times before you keep any time: the first call compiles, the next may still "
    "warm up.",
)
def leaves_first_calls_out(answer: Answer, random_inputs: RandomInputs) -> None:
    (_, _, high), took = _measure(answer, lambda n: 0.5 if n == 0 else 0.002)
    assert high < 0.3, f"the first call took {took[0]:.2f} s, and it is in the high, {high:.2f}"


@measure.step(
    "enough",
    "makes ten calls or more",
    "How sure can you be of a spread that comes from three numbers?",
    "Keep the times of ten calls at the least.",
)
def makes_enough_calls(answer: Answer, random_inputs: RandomInputs) -> None:
    _, took = _measure(answer, lambda n: 0.002)
    assert len(took) >= 11, f"it made {len(took)} calls, warm-up included"


@measure.step(
    "outlier",
    "is not moved by one slow call",
    "One call is interrupted for a third of a second. What does the mean make of it?",
    "Take statistics.median, or the middle of the sorted times.",
)
def ignores_one_slow_call(answer: Answer, random_inputs: RandomInputs) -> None:
    (median, _, _), took = _measure(answer, lambda n: 0.35 if n == 6 else 0.002)
    typical = statistics.median(took[1:])
    assert median <= 1.6 * typical + 0.002, f"most calls took {typical:.4f} s; it said {median:.4f}"


@measure.step(
    "spread",
    "shows a spread where there is one",
    "Half of the calls take ten times as long as the others: do low and high show it?",
    "low and high come from the measured times, not from the median.",
)
def shows_a_spread(answer: Answer, random_inputs: RandomInputs) -> None:
    (_, low, high), _ = _measure(answer, lambda n: 0.002 if n % 2 else 0.03)
    assert high > 2 * low, f"low {low:.4f} s and high {high:.4f} s hide that calls differ tenfold"


# --------------------------------------------------------------------------- speedup

speedup = Exercise("speedup", "Correct first, then timed, in turns")


def _sleeping_pair(
    eager: float, compiled: float, *, wrong_result: bool = False
) -> tuple[SleepingCall, SleepingCall]:
    off = 1.05 if wrong_result else 1.0
    return (
        SleepingCall(lambda n: eager, lambda x: x * 2),
        SleepingCall(lambda n: compiled, lambda x: x * 2 * off),
    )


@speedup.step(
    "direction",
    "is above 1 where the compiled one is faster",
    "Which of the two times do you divide by the other?",
    "A speed-up is the time before by the time after: eager / compiled.",
)
def is_above_one_if_faster(answer: Answer, random_inputs: RandomInputs) -> None:
    ratio = float(answer(*_sleeping_pair(0.03, 0.003), random_inputs.tensor(8)))
    assert ratio > 1, f"eager took ten times as long, and it said {ratio:.2f}"


@speedup.step(
    "wrong-result",
    "raises where the results differ",
    "What is the speed-up of a function that returns something else?",
    "Compare the two results first, and raise (an assert, or torch.testing.assert_close).",
)
def raises_if_results_differ(answer: Answer, random_inputs: RandomInputs) -> None:
    try:
        result = answer(*_sleeping_pair(0.003, 0.001, wrong_result=True), random_inputs.tensor(8))
    except Exception:
        return
    raise AssertionError(f"the compiled result is 5 % off, and it said {result!r}")


@speedup.step(
    "before-timing",
    "compares before it times",
    "How many calls were made before the difference was noticed?",
    "Compare the results of one call each, before the first time is taken.",
)
def compares_before_it_times(answer: Answer, random_inputs: RandomInputs) -> None:
    eager, compiled = _sleeping_pair(0.003, 0.001, wrong_result=True)
    try:
        answer(eager, compiled, random_inputs.tensor(8))
    except Exception:
        calls = len(eager.took) + len(compiled.took)
        assert calls <= 6, f"it made {calls} calls before it noticed"
    else:
        raise AssertionError("it did not raise")


@speedup.step(
    "turns",
    "takes turns, so that a slower machine slows both",
    "The machine grows slower while you measure. Who pays, if one is timed after the other?",
    "Time one call of each in turn, again and again; then take the median of each.",
)
def takes_turns(answer: Answer, random_inputs: RandomInputs) -> None:
    calls = [0]

    def slower(_: int) -> float:
        calls[0] += 1
        return 0.006 + 0.002 * calls[0]

    ratio = float(answer(SleepingCall(slower), SleepingCall(slower), random_inputs.tensor(8)))
    assert 0.7 < ratio < 1.4, f"both are equally fast, and it said {ratio:.2f}"


# --------------------------------------------------------------------------- break_even

break_even = Exercise("break_even", "How many calls until it has paid")


def _means_never(value: object) -> bool:
    return value is None or value == math.inf


def _check_calls(answer: Answer, compile_seconds: float, eager: float, compiled: float) -> None:
    result = answer(compile_seconds, eager, compiled)
    call = f"break_even({compile_seconds}, {eager}, {compiled})"
    least = math.ceil(compile_seconds / (eager - compiled))
    exact = (least * (eager - compiled)) == compile_seconds
    assert not _means_never(result), f"{call} said never; {least} calls pay"
    right = (least, least + 1) if exact else (least,)
    assert result in right, f"{call} said {result!r}; it is {least}"


@break_even.step(
    "saving",
    "divides by what a call saves",
    "What does one call save: its whole time, or the difference?",
    "Each call saves eager - compiled. The compile is paid once.",
)
def divides_by_the_saving(answer: Answer, random_inputs: RandomInputs) -> None:
    _check_calls(answer, 10.0, 1.0, 0.5)


@break_even.step(
    "whole-calls",
    "rounds up to whole calls",
    "After 4.4 calls: has it paid after the fourth?",
    "math.ceil: the fourth call has not paid all of it.",
)
def rounds_up(answer: Answer, random_inputs: RandomInputs) -> None:
    _check_calls(answer, 1.1, 0.75, 0.5)


@break_even.step(
    "never",
    "says never where it is not faster",
    "What if the compiled call is slower, or just as fast?",
    "Return math.inf (or None) where eager <= compiled; do not divide by zero.",
)
def says_never(answer: Answer, random_inputs: RandomInputs) -> None:
    slower, same = answer(5.0, 0.25, 0.5), answer(5.0, 0.5, 0.5)
    assert _means_never(slower), f"compiled is slower, and it said {slower!r}"
    assert _means_never(same), f"both take the same, and it said {same!r}"


@break_even.step(
    "unseen",
    "is right for numbers that it has not seen",
    "Does it compute with its arguments?",
    "compile_seconds / (eager - compiled), rounded up.",
)
def is_right_for_other_numbers(answer: Answer, random_inputs: RandomInputs) -> None:
    eager = random_inputs.integer(20, 60) / 64
    _check_calls(answer, random_inputs.integer(300, 900) / 7, eager, eager / 4)


# --------------------------------------------------------------------------- pays_from

pays_from = Exercise("pays_from", "From which batch size on")

Sweep = dict[int, tuple[float, float]]


def _sweep(faster: Sequence[bool], random_inputs: RandomInputs) -> Sweep:
    sizes = [2**n for n in range(len(faster))]
    unit = random_inputs.random.uniform(0.5, 2)
    return {size: (unit, unit * (0.5 if fast else 1.5)) for size, fast in zip(sizes, faster)}


def _check_size(answer: Answer, sweep: Sweep, size: int, note: str = "") -> None:
    result = answer(sweep)
    assert result == size, f"it pays from {size} on{note}, and it said {result!r}"


@pays_from.step(
    "first",
    "gives the first size from which it pays",
    "Is it the smallest or the largest size where the compiled one is faster?",
    "Of all sizes where it is faster, the smallest counts, as long as it stays faster after it.",
)
def gives_the_first_size(answer: Answer, random_inputs: RandomInputs) -> None:
    _check_size(answer, _sweep([False, False, True, True, True], random_inputs), 4)


@pays_from.step(
    "chance",
    "does not take one lucky size for it",
    "At size 2 it was faster, at 4 it is not. From where on does it pay?",
    "Look from the largest size down, and stop at the first where it is not faster.",
)
def ignores_one_lucky_size(answer: Answer, random_inputs: RandomInputs) -> None:
    sweep = _sweep([False, True, False, False, True, True], random_inputs)
    _check_size(answer, sweep, 16, " (2 was alone)")


@pays_from.step(
    "never",
    "says None where it never pays",
    "What do you return for a sweep in which eager always wins?",
    "Return None; it may also be slower at the largest size alone.",
)
def says_none_if_it_never_pays(answer: Answer, random_inputs: RandomInputs) -> None:
    result = (
        answer(_sweep([False] * 4, random_inputs)),
        answer(_sweep([True, True, False], random_inputs)),
    )
    assert result == (None, None), f"it never pays for the largest, and it said {result!r}"


@pays_from.step(
    "order",
    "goes by size, not by the order of the entries",
    "A sweep may have been measured from large to small. What is the first entry then?",
    "sorted(sweep) before you look.",
)
def sorts_the_sizes(answer: Answer, random_inputs: RandomInputs) -> None:
    sweep = _sweep([False, False, False, True, True], random_inputs)
    _check_size(answer, dict(reversed(list(sweep.items()))), 8)


EXERCISES = [measure, speedup, break_even, pays_from]
