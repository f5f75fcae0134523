"""What was found of a reader's model, as tables and a verdict a question; no torch."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass

from tclab.model import Recompile, Report, Table

#: How the last line of a reader's file begins that says what to look at.
ORDER = "# tclab-capstone: "

#: A speed-up of less than this is within what two runs differ by.
WORTH = 1.05


@dataclass(frozen=True)
class Finding:
    """One question and its answer. `settled` is whether the capstone asks for no more."""

    question: str
    settled: bool
    answer: str


@dataclass(frozen=True)
class Timing:
    """Seconds of a warm call: (low, median, high) of each, taken in turns; of the first call."""

    eager: tuple[float, float, float]
    compiled: tuple[float, float, float]
    first: float
    calls: str  # how the call looked, in words

    @property
    def speedup(self) -> float:
        return self.eager[1] / self.compiled[1]

    @property
    def break_even(self) -> float:
        """Calls until the first one has paid; infinity where that never comes."""
        saved = self.eager[1] - self.compiled[1]
        return math.ceil(self.first / saved) if saved > 0 else math.inf

    @property
    def apart(self) -> bool:
        """Whether the quartiles of the two do not overlap."""
        return self.compiled[2] < self.eager[0] or self.eager[2] < self.compiled[0]


def breaks(report: Report, explained: Mapping[str, str]) -> Finding:
    """Zero breaks, or each explained by a key that is in its line or its reason."""
    question = "Graph breaks: none, or each explained?"
    open_breaks, explained_breaks = list[str](), list[str]()
    for each in report.breaks:
        text = f"{each.location.code if each.location else ''} {each.reason}"
        why = next((why for part, why in explained.items() if part in text), "")
        place = f"{each.location or 'no line'}: {each.reason}"
        if why:
            explained_breaks.append(f"{place} ({why})")
        else:
            open_breaks.append(place)
    if open_breaks:
        step = 'mend it, or say why it stays: EXPLAINED = {"a part of the line": "why"}'
        return Finding(question, False, f"{'; '.join(open_breaks)}. Next: {step}")
    return Finding(question, True, "; ".join(explained_breaks) or "none")


def recompiles(report: Report, again: Sized, why: Iterable[Recompile]) -> Finding:
    """The same calls, made a second time, compile nothing; `again` and `why` are of that pass."""
    question = "Recompiles: bounded?"
    if again:
        reason = next((f": {each.reasons[0]}" for each in why if each.reasons), "")
        answer = f"the same calls, made once more, compiled {len(again)} graphs again{reason}"
        return Finding(question, False, f"{answer}. Next: the mends of lab 3")
    number = len(report.recompiles)
    return Finding(
        question, True, f"{number} over the example calls, none when they are made again"
    )


def correct(compiled: float, eager: float, bound: float) -> Finding:
    """The error against float64 (or eager) is no worse than rounding explains."""
    question = "Are the results right?"
    is_right = compiled <= bound
    answer = f"error of the compiled model {compiled:.2e}, of plain PyTorch {eager:.2e}"
    step = "" if is_right else ". Next: bisect with backend='eager', then 'aot_eager' (lab 1)"
    return Finding(question, is_right, f"{answer} (allowed: {bound:.2e}){step}")


def speed(timing: Timing) -> Finding:
    """A speed-up with its conditions, or an honest no: both answer the question."""
    question = "Does it pay?"
    ratio = f"{timing.speedup:.2f} times as fast ({timing.calls}; medians, taken in turns)"
    if not timing.apart or abs(timing.speedup - 1) < WORTH - 1:
        return Finding(question, True, f"No difference that the spread does not explain: {ratio}.")
    if timing.speedup < 1:
        return Finding(question, True, f"No: compiled it is {ratio}.")
    paid = f"it has paid after {timing.break_even:,} calls"
    return Finding(
        question, True, f"Yes: {ratio}; the first call took {timing.first:.2f} s, {paid}."
    )


def times_table(timing: Timing) -> Table:
    """The times in milliseconds."""
    both = {"plain PyTorch": timing.eager, "compiled": timing.compiled}
    rows = [
        (name, 1e3 * low, 1e3 * median, 1e3 * high) for name, (low, median, high) in both.items()
    ]
    units, formats = ("", "ms", "ms", "ms"), ("", ".3f", ".3f", ".3f")
    return Table(
        "A warm call", "times", ("what", "low", "median", "high"), tuple(rows), units, formats
    )


def findings_table(findings: Sequence[Finding]) -> Table:
    """Question, whether it is settled, answer."""
    rows = tuple((f.question, "yes" if f.settled else "not yet", f.answer) for f in findings)
    return Table("Findings", "findings", ("question", "settled", "what was seen"), rows)
