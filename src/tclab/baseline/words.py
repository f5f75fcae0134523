"""What a failure says: each thing that is worse, the user's line, the reason and what to do."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Iterator

from tclab.baseline.observed import Observed
from tclab.baseline.verdict import Verdict
from tclab.explain import fixes
from tclab.model import Break
from tclab.snapshot import Change, Comparison
from tclab.upgrade import causes

#: One thing of each part of a comparison.
_ONE = {
    "graph breaks": "graph break",
    "recompiles": "recompile",
    "graphs": "graph",
    "kernels": "kernel",
    "library calls": "library call",
    "guards": "guards",
    "CUDA graphs": "no CUDA graph",
    "memory": "memory",
}
_OPERATORS = 3  # changes of a stage's graphs in a terminal
_MOST = 24  # lines of a kernel's difference in a terminal


def changes(of: Iterable[Change], now: Observed | None = None) -> Iterator[str]:
    """Each change in lines: what it is, and of what is new why, and what to do. Of a stage's graphs
    only the first ones.
    """
    of_stages: Counter[str] = Counter()
    for change in of:
        of_stages[change.detail] += change.part == "graphs"
        if of_stages[change.detail] <= _OPERATORS:
            yield f"{_ONE[change.part]}, {_what(change)}"
            yield from (f"    {line}" for line in _why(change, now))
    for stage, number in of_stages.items():
        if number > _OPERATORS:
            yield f"graph, {stage}: and {number - _OPERATORS} more"


def _what(change: Change) -> str:
    code = "\n" in change.before + change.after
    if change.part == "kernels" and not code:  # what stands beside a kernel's code
        return f"{change.title}: {change.before or 'none'} to {change.after or 'none'}"
    if not change.before:
        return f"new: {change.title}"
    if not change.after:
        return f"gone: {change.title}"
    if code:
        return f"other code: {change.title}"
    return f"{change.title}: {change.before} to {change.after}"


def _why(change: Change, now: Observed | None) -> Iterator[str]:
    if change.part == "recompiles" and change.after:
        yield f"fix: {fixes.again(change.title)}"
    elif "\n" in change.before and change.after:
        yield from _difference(change)
    elif now and change.after and (item := now.break_of(change.title)):
        yield from of_break(item)


def breaks(of: Observed) -> list[str]:
    """Each break that counts, and below it the user's line, the reason and a hint."""
    pairs = zip(of.snapshot.breaks, of.breaks)
    return ["\n    ".join([str(identity), *of_break(item)]) for identity, item in pairs]


def recompiles(of: Observed) -> list[str]:
    """Each recompile that counts, and below it what ends it."""
    return [f"{each}\n    fix: {fixes.again(str(each))}" for each in of.snapshot.recompiles]


def in_other_code(of: Observed) -> list[str]:
    """Breaks of other packages, which do not count."""
    return [f"in other code, not counted: {each}" for each in of.theirs]


def of_break(item: Break) -> Iterator[str]:
    """The user's line, the reason and PyTorch's first hint."""
    yield f"{item.location}: {item.location.code.strip() if item.location else ''}"
    yield f"reason: {' '.join(item.reason.split())}"
    yield from (f"fix: {' '.join(hint.split())}" for hint in fixes.of(item)[:1])


def _difference(change: Change) -> list[str]:
    before, after = (text.splitlines() for text in (change.before, change.after))
    lines = list(difflib.unified_diff(before, after, "before", "now", n=1, lineterm=""))
    more = len(lines) - _MOST
    return lines[:_MOST] + ([f"… and {more} more lines"] if more > 0 else [])


def by_torch(verdict: Verdict, now: Observed) -> Iterator[str]:
    """What another PyTorch changed: kernels by cause, and what no cause names."""
    causes_ = [*_by_cause(verdict.comparison)]
    yield from causes_
    every = (*verdict.worse, *verdict.better)
    yield from changes([e for e in every if not (causes_ and e.part == "kernels")], now)


def _by_cause(comparison: Comparison) -> Iterator[str]:
    """Why kernels differ between two PyTorches, what can move numbers first."""
    for cause in causes.group(comparison.pairs):
        form, count = cause.form, len(cause.pairs)
        kernels = f"{count} kernel" + "s" * (count != 1)
        known = f" ({form.issue})" if form.issue else ""
        yield f"{kernels}: {form.name}{known}; moves numbers: {form.numbers}"
