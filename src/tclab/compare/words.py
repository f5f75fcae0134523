"""Describe changes, causes, breaks and recompiles for terminals, test failures and tables."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from tclab.compare import cpp_body, fixes
from tclab.compare.causes import Cause, find_causes
from tclab.compare.changes import Change, Code, Value
from tclab.compare.summary import CompileSummary
from tclab.compare.verdict import Verdict
from tclab.model import Break, RecompileIdentity, Table

#: Part of a comparison → the noun for one item of it.
_SINGULAR = {
    "graph breaks": "graph break",
    "recompiles": "recompile",
    "graphs": "graph",
    "kernels": "kernel",
    "library calls": "library call",
    "guards": "guards",
    "CUDA graphs": "no CUDA graph",
    "memory": "memory",
    "findings": "finding",
}
_MAX_GRAPH_CHANGES = 3  # the most changes of a stage's graphs to print in a terminal
_MAX_DIFF_LINES = 24  # the most lines of a diff to print in a terminal

# ------------------------------------------------------------------------------ changes


def tabulate_changes(
    changes: Iterable[Change],
    sides: tuple[str, str],
    judge: Callable[[Change], str | None] | None = None,
) -> Table:
    """Return a table with a row for each change; `sides` names the two compiles, and `judge`
    returns "worse", "better" or None.
    """
    columns = ("where", "what", *sides, "judged")
    rows = [(e.part, e.title, *_side_cells(e), judge(e) if judge else None) for e in changes]
    width = len(columns) if judge else len(columns) - 1
    return Table(
        title="What differs" if rows else "Nothing differs",
        name="differences",
        columns=columns[:width],
        rows=tuple(row[:width] for row in rows),
    )


def _side_cells(change: Change) -> tuple[str, str]:
    """Return the cells of both sides, with the word "code" instead of a kernel's code."""
    before, after = map(_format_cell, (change.before, change.after))
    return before, "other code" if before == after == "code" else after


def _format_cell(value: Value) -> str:
    return "" if value is None else "code" if isinstance(value, Code) else str(value)


def list_changes(changes: Iterable[Change], current: CompileSummary | None = None) -> Iterator[str]:
    """Yield lines for each change: what changed, and for a new item the reason and a fix. Of the
    changes in a stage's graphs only the first ones are listed.
    """
    of_stages: Counter[str] = Counter()
    for change in changes:
        of_stages[change.detail] += change.part == "graphs"
        if of_stages[change.detail] <= _MAX_GRAPH_CHANGES:
            yield f"{_SINGULAR[change.part]}, {_describe_change(change)}"
            yield from (f"    {line}" for line in _explain_change(change, current))
    for stage, number in of_stages.items():
        if number > _MAX_GRAPH_CHANGES:
            yield f"graph, {stage}: and {number - _MAX_GRAPH_CHANGES} more"


def _describe_change(change: Change) -> str:
    before, after = change.before, change.after
    # the change is in a launch setting or a number
    if change.part == "kernels" and not change.is_code:
        return f"{change.title}: {_value_or_none(before)} to {_value_or_none(after)}"
    if before is None:
        return f"new: {change.title}"
    if after is None:
        return f"gone: {change.title}"
    if change.is_code:
        return f"other code: {change.title}"
    return f"{change.title}: {before} to {after}"


def _value_or_none(value: Value) -> str:
    return "none" if value is None else str(value)


def _explain_change(change: Change, current: CompileSummary | None) -> Iterator[str]:
    if change.after is None:
        return
    if isinstance(change.subject, RecompileIdentity):
        yield from _fix_lines(change.subject)
    elif isinstance(change.before, Code) and isinstance(change.after, Code):
        yield from _diff_lines(change.before, change.after)
        yield from cpp_body.describe_machines(change.before.text, change.after.text)
    elif current and (item := current.find_break(change.subject)):
        yield from _explain_break(item)
    elif current and (found := current.find_finding(change.subject)):
        if found.places:  # without places, the subject says where it is
            yield f"{', '.join(map(str, found.places))}: {found.what}"
        yield from (f"fix: {action}" for action in found.actions)


def _diff_lines(before: Code, after: Code) -> list[str]:
    one, two = (code.text.splitlines() for code in (before, after))
    lines = list(difflib.unified_diff(one, two, "before", "now", n=1, lineterm=""))
    more = len(lines) - _MAX_DIFF_LINES
    return lines[:_MAX_DIFF_LINES] + ([f"… and {more} more lines"] if more > 0 else [])


# ------------------------------------------------------------------- breaks and recompiles


def list_breaks(summary: CompileSummary) -> list[str]:
    """Return a text for each break that counts: the user's line, the reason and a hint below it."""
    pairs = zip(summary.snapshot.breaks, summary.breaks)
    return ["\n    ".join([str(identity), *_explain_break(item)]) for identity, item in pairs]


def list_recompiles(summary: CompileSummary) -> list[str]:
    """Return a text for each recompile that counts, with its fixes below it."""
    every = summary.snapshot.recompiles
    return ["\n    ".join([str(each), *_fix_lines(each)]) for each in every]


def list_breaks_elsewhere(summary: CompileSummary) -> list[str]:
    """Return a line for each break in other packages, which does not count."""
    return [f"in other code, not counted: {each}" for each in summary.breaks_elsewhere]


def _explain_break(item: Break) -> Iterator[str]:
    """Yield the user's line, the reason and PyTorch's first usable hint."""
    code = item.location.code.strip() if item.location else ""
    yield f"{item.location}: {code}" if code else f"{item.location}"
    yield f"reason: {' '.join(item.reason.split())}"
    yield from (f"fix: {' '.join(hint.split())}" for hint in fixes.usable_hints(item)[:1])


def _fix_lines(recompile: RecompileIdentity) -> list[str]:
    """Return a fix for each failed guard."""
    return [f"fix: {fix.text}" for fix in fixes.fix_guards(recompile.guards)]


# ------------------------------------------------------------------------------- causes


def describe_cause(cause: Cause) -> dict[str, str | int | None]:
    """Return the cells for a cause by column: the number of kernels, the effects, the issue."""
    form = cause.form
    memory = [form.memory, _describe_total(cause, "bytes", "bytes moved")]
    speed = [form.speed, _describe_total(cause, "registers", "registers"),
             _describe_total(cause, "spilled", "bytes spilled")]  # fmt: skip
    return {
        "kernels": len(cause.pairs),
        "cause": form.title,
        "moves numbers": form.numbers,
        "memory": "; ".join(filter(None, memory)) or None,
        "speed": "; ".join(filter(None, speed)) or None,
        "known as": form.issue or None,
    }


def _describe_total(cause: Cause, number: str, noun: str) -> str:
    """Describe how a number changed over all the cause's kernels; '' if it did not change, or is
    unknown.
    """
    both = cause.total(number)
    if both is None or both[0] == both[1]:
        return ""
    return f"{noun} {both[0]:,} to {both[1]:,}"


def list_by_cause(verdict: Verdict, current: CompileSummary) -> Iterator[str]:
    """Yield lines on the effects of another PyTorch: kernels by cause, then the other changes."""
    causes = find_causes(verdict.comparison.pairs)
    for cause in causes:
        form, count = cause.form, len(cause.pairs)
        kernels = f"{count} kernel" + "s" * (count != 1)
        yield f"{kernels}: {form.name}{form.issue_suffix}; moves numbers: {form.numbers}"
    every = (*verdict.worse, *verdict.better)
    yield from list_changes([e for e in every if not (causes and e.part == "kernels")], current)
