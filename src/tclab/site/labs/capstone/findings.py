"""Make the findings about a reader's model: an answer to each question, and tables. This module
imports no torch.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass

from tclab.model import Recompile, Report, Table

#: The beginning of the comment that names the model, at the end of a reader's file.
REQUEST_MARK = "# tclab-capstone: "

#: The least speed-up that counts; a smaller one may be noise.
LEAST_SPEEDUP = 1.05


@dataclass(frozen=True)
class Finding:
    """A question about a reader's model, and its answer. `settled` means that the reader has
    nothing left to do.
    """

    question: str
    settled: bool
    answer: str


@dataclass(frozen=True)
class Timing:
    """Seconds of warm calls, as (low, median, high), and of the first compiled call (`first`).

    The eager and the compiled calls were timed in turns.
    """

    eager: tuple[float, float, float]
    compiled: tuple[float, float, float]
    first: float
    calls: str  # describes the calls that were timed

    @property
    def speedup(self) -> float:
        return self.eager[1] / self.compiled[1]

    @property
    def break_even(self) -> float:
        """The number of calls after which the saved time exceeds the time of the first call;
        infinity if no time is saved.
        """
        saved = self.eager[1] - self.compiled[1]
        return math.ceil(self.first / saved) if saved > 0 else math.inf

    @property
    def is_clear(self) -> bool:
        """Whether the quartiles of eager and compiled do not overlap."""
        return self.compiled[2] < self.eager[0] or self.eager[2] < self.compiled[0]


def judge_breaks(report: Report, explained: Mapping[str, str]) -> Finding:
    """Make the finding on breaks. The finding is settled if there is no break, or if the line or
    the reason of each break contains a key of `explained`.
    """
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


def judge_recompiles(report: Report, graphs: Sized, why: Iterable[Recompile]) -> Finding:
    """Make the finding on recompiles: settled if a second pass over the same calls compiled
    nothing.

    `graphs` and `why` are the graphs and recompiles of that second pass.
    """
    question = "Recompiles: bounded?"
    if graphs:
        reason = next((f": {each.reasons[0]}" for each in why if each.reasons), "")
        answer = f"the same calls, made once more, compiled {len(graphs)} graphs again{reason}"
        return Finding(question, False, f"{answer}. Next: the mends of lab 3")
    number = len(report.recompiles)
    return Finding(
        question, True, f"{number} over the example calls, none when they are made again"
    )


def judge_results(compiled_error: float, eager_error: float, bound: float) -> Finding:
    """Make the finding on results. The finding is settled if the largest error of the compiled
    model is within `bound`, which is the error that rounding explains.
    """
    question = "Are the results right?"
    is_right = compiled_error <= bound
    answer = f"error of the compiled model {compiled_error:.2e}, of plain PyTorch {eager_error:.2e}"
    step = "" if is_right else ". Next: bisect with backend='eager', then 'aot_eager' (lab 1)"
    return Finding(question, is_right, f"{answer} (allowed: {bound:.2e}){step}")


def judge_speed(timing: Timing) -> Finding:
    """Make the finding on speed, with its conditions. The finding is always settled, because "no
    speed-up" is an answer, too.
    """
    question = "Does it pay?"
    ratio = f"{timing.speedup:.2f} times as fast ({timing.calls}; medians, taken in turns)"
    if not timing.is_clear or abs(timing.speedup - 1) < LEAST_SPEEDUP - 1:
        return Finding(question, True, f"No difference that the spread does not explain: {ratio}.")
    if timing.speedup < 1:
        return Finding(question, True, f"No: compiled it is {ratio}.")
    paid = f"it has paid after {timing.break_even:,} calls"
    return Finding(
        question, True, f"Yes: {ratio}; the first call took {timing.first:.2f} s, {paid}."
    )


def times_table(timing: Timing) -> Table:
    """Return a table of the low, median and high milliseconds of a warm call, eager and
    compiled.
    """
    both = {"plain PyTorch": timing.eager, "compiled": timing.compiled}
    rows = [
        (name, 1e3 * low, 1e3 * median, 1e3 * high) for name, (low, median, high) in both.items()
    ]
    units, formats = ("", "ms", "ms", "ms"), ("", ".3f", ".3f", ".3f")
    return Table(
        "A warm call", "times", ("what", "low", "median", "high"), tuple(rows), units, formats
    )


def findings_table(findings: Sequence[Finding]) -> Table:
    """Return a table with a row for each finding: the question, whether it is settled, the
    answer.
    """
    rows = tuple((f.question, "yes" if f.settled else "not yet", f.answer) for f in findings)
    return Table("Findings", "findings", ("question", "settled", "what was seen"), rows)
