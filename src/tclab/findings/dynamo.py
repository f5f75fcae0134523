"""Define rules on graph breaks, skipped functions, recompiles and compile caches."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from tclab.compare import fixes
from tclab.compare.identity import STACK_VALUE, failed_guards
from tclab.findings.evidence import Evidence
from tclab.model import NOT_KNOWN, Break, Cost, Finding, Recompile, SourceLine
from tclab.text import user_lines

#: PyTorch's number for the graph break at the recompile limit.
LIMIT = "GB0039"
#: Types of breaks at which Python waits for a number that the device computes.
_WAITS = re.compile(r"Data-dependent|Tensor\.item\(\)|data-dependent")
#: The most actions, guards and values in one finding.
_MOST_ACTIONS, _MOST_FACTS = 2, 4
_MOST_PLACES = 3
#: At least this number of functions that were compiled again for other sizes share one finding.
_MANY_FUNCTIONS = 3


def find_breaks(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding for each place and reason of a break or a skipped function. A break deep in a
    library ends the graphs of all functions on the way to the break; these breaks have one finding.
    """
    groups: dict[tuple[str, str, str], list[Break]] = defaultdict(list)
    for item in evidence.breaks:
        if item.gb_id != LIMIT:
            name = "skipped" if item.skipped else "graph-break"
            groups[name, str(item.location), item.reason].append(item)
    for (name, _, _), items in groups.items():
        waits = _count_waits(items, evidence)
        cost = Cost(waits, "wait for the device a call", "counted") if waits else NOT_KNOWN
        places = _break_places(items, evidence)
        reason = break_reason(items[0], places[0] if places else None)
        hints = _list_hints(items[0]) if any(map(_has_own_lines, items)) else ()
        yield Finding(name, reason, places, cost, hints, "breaks")


def _break_places(items: Sequence[Break], evidence: Evidence) -> tuple[SourceLine, ...]:
    """Return the reader's lines of equal breaks. A line of a library, or the first line of a
    function, is returned only if there is no other line.
    """
    lines = [line for item in items if (line := _break_line(item, evidence))]
    lines = [line for line in lines if line.file not in evidence.libraries] or lines
    places = {str(line): line for line in lines if line.code} or {str(line): line for line in lines}
    return tuple(places.values())[:_MOST_PLACES]


def _has_own_lines(item: Break) -> bool:
    return not item.location or bool(select_lines(item.stack))


def _count_waits(items: Sequence[Break], evidence: Evidence) -> int:
    """Return how often a call waits at equal breaks for a number from the device; 0 if the breaks
    need no number. A function that calls another function with the break does not wait itself.
    """
    asks = [item for item in items if _WAITS.search(item.gb_type)]
    inner = sum(len(item.stack) == 1 for item in asks)
    return max(inner, 1, *(evidence.runs_at.get(str(item.location), 0) for item in asks)) * bool(
        asks
    )


def _find_caller(stack: Sequence[SourceLine], evidence: Evidence) -> SourceLine | None:
    """Return the reader's line that called the function in which a library's stack begins."""
    return evidence.callers.get(f"{stack[0].file}:{stack[0].function}") if stack else None


def _list_hints(item: Break) -> tuple[str, ...]:
    """Return PyTorch's usable hints, each in one line."""
    return tuple(" ".join(hint.split()) for hint in fixes.usable_hints(item)[:_MOST_ACTIONS])


def _break_line(item: Break, evidence: Evidence) -> SourceLine | None:
    """Return the reader's innermost line of a break; if there is none, the line that called the
    library, or else the line of the break itself.
    """
    lines = select_lines(item.stack)
    own = [line for line in lines if line.file not in evidence.libraries]
    return own[-1] if own else _find_caller(item.stack, evidence) or item.location


def select_lines(stack: Sequence[SourceLine]) -> list[SourceLine]:
    """Return the reader's lines of a stack, outermost first."""
    return user_lines.select_user_lines(stack, lambda line: line.file)


def break_reason(item: Break, place: SourceLine | None = None) -> str:
    """Return the reason of a break with PyTorch's number, and with the break's line if that is not
    `place`.
    """
    number = f" [{item.gb_id}]" if item.gb_id else ""
    inner = f", in {item.location}" if place and item.location and place != item.location else ""
    return f"{item.reason}{number}{inner}"


def find_recompiles(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding for each function that was compiled again, and for each function at the
    recompile limit. If many functions were compiled again for other sizes, yield one finding on all
    of these.
    """
    found = [*_find_recompiled(evidence)]
    sized = [each for each in found if _is_for_sizes(each)]
    if len(sized) < _MANY_FUNCTIONS:
        sized = []
    yield from (each for each in found if each not in sized)
    if sized:
        seconds = sum(each.cost.seconds for each in sized)
        places = dict.fromkeys(chain.from_iterable(each.places for each in sized))
        yield Finding(
            "recompile",
            f"{len(places)} functions compiled again for other sizes: "
            f"{join_few([each.what for each in sized])}",
            tuple(places),
            Cost(seconds, "s once", "measured") if seconds else NOT_KNOWN,
            sized[0].actions,
            "recompiles",
        )


def _is_for_sizes(finding: Finding) -> bool:
    return finding.name == "recompile" and finding.actions[0].startswith(fixes.ANY_SIZE)


def _find_recompiled(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding for each function that was compiled again, with the fix for its recompiles,
    and for each function at the recompile limit. Functions that were compiled again for the same
    reasons have one finding.
    """
    by_place: dict[SourceLine, list[Recompile]] = defaultdict(list)
    for item in evidence.recompiles:
        if item.location is not None:
            by_place[item.location].append(item)
    limits = {str(item.location): item for item in evidence.breaks if item.gb_id == LIMIT}
    alike: dict[tuple[object, ...], list[_FunctionRecompiles]] = defaultdict(list)
    for place, items in by_place.items():
        each = _describe_recompiles(evidence, place, items, limits.pop(str(place), None))
        alike[each.name, each.limit, each.reasons, each.fix, each.cost.unit].append(each)
    yield from map(_merge_recompiles, alike.values())
    for limit in limits.values():
        places = (limit.location,) if limit.location else ()
        yield Finding("recompile-limit", break_reason(limit), places, NOT_KNOWN, _list_hints(limit))


def _recompiled_lines(
    evidence: Evidence, items: Sequence[Recompile], first_line: SourceLine
) -> tuple[SourceLine, ...]:
    """Return the user's lines that led to the recompiles of a library's function; for another
    function, return its own line.
    """
    callers = evidence.callers
    lines = dict.fromkeys(callers[i.compile_id] for i in items if i.compile_id in callers)
    return tuple(lines) or (callers.get(f"{first_line.file}:{first_line.function}", first_line),)


def _name_function(item: Recompile, first_line: SourceLine, lines: tuple[SourceLine, ...]) -> str:
    if lines == (first_line,):
        return item.function
    return "what this line calls is" if len(lines) == 1 else "what these lines call is"


@dataclass(frozen=True)
class _FunctionRecompiles:
    """The recompiles of one function. `lines` are the lines to show, and `function` is what a
    finding calls the function at these lines. `limit` says that Dynamo gave up on the function, or
    is ''.
    """

    name: str
    lines: tuple[SourceLine, ...]
    function: str
    items: Sequence[Recompile]
    reasons: str
    fix: str
    cost: Cost
    limit: str = ""


def _describe_recompiles(
    evidence: Evidence, first_line: SourceLine, items: Sequence[Recompile], limit: Break | None
) -> _FunctionRecompiles:
    guards = _choose_guards(items)
    name, cost = _cost_of_recompiles(evidence, items)
    reasons = join_few(_list_reasons(evidence, items, guards))
    fix = evidence.fixes.get(str(first_line)) or " ".join(fixes.fix_guards(guards))
    lines = _recompiled_lines(evidence, items, first_line)[:_MOST_PLACES]
    function = _name_function(items[0], first_line, lines)
    if limit is None:
        return _FunctionRecompiles(name, lines, function, items, reasons, fix, cost)
    gave_up = break_reason(limit)
    return _FunctionRecompiles(
        "recompile-limit", lines, function, items, reasons, fix, cost, gave_up
    )


def _merge_recompiles(alike: Sequence[_FunctionRecompiles]) -> Finding:
    """Return the finding on functions that were compiled again for the same reasons."""
    first = alike[0]
    if len(alike) == 1:
        again = _compiled_again(first.items, first.function)
    else:
        times = sum(len(each.items) for each in alike)
        again = f"{len(alike)} functions compiled again"
        again += f", {times} times in all" if times > len(alike) else ""
    what = f"{first.limit}: {again}" if first.limit else again
    places = tuple(dict.fromkeys(line for each in alike for line in each.lines))
    cost = replace(first.cost, amount=sum(each.cost.amount for each in alike))
    return Finding(first.name, f"{what}: {first.reasons}", places, cost, (first.fix,), "recompiles")


def _cost_of_recompiles(evidence: Evidence, items: Sequence[Recompile]) -> tuple[str, Cost]:
    """Return the kind of the finding on one function's recompiles, and their cost."""
    mean = evidence.compile_seconds
    seconds = sum(evidence.seconds_of.get(item.compile_id, mean) for item in items)
    again = {evidence.call_of.get(item.compile_id, 0) for item in items}
    later = evidence.calls - 1
    if later > 1 and again.issuperset(range(2, evidence.calls + 1)):
        name, seconds, unit = "compiles-every-call", seconds / later, "s a call"
    else:
        name, unit = "recompile", "s once"
    return name, Cost(seconds, unit, "measured") if seconds else NOT_KNOWN


def _choose_guards(items: Sequence[Recompile]) -> tuple[str, ...]:
    """Return the guards to name as the reasons of recompiles. For one recompile these are all of
    its failed guards. For several recompiles, it is one guard of each, if possible about a value
    that no earlier guard was about.
    """
    if len(items) == 1:
        return failed_guards(items[0])
    chosen: list[str] = []
    known: set[str] = set()
    for item in items:
        guards = failed_guards(item)
        new = [guard for guard in guards if _guarded_value(guard) not in known]
        again = () if set(chosen).intersection(guards) else guards
        chosen += (new or again)[:1]
        known.update(map(_guarded_value, guards))
    return tuple(chosen)


# self.scale == 1.0; tensor 'x' size mismatch at index 0. expected 8, actual 5
_COMPARISON = re.compile(r" (?:==|!=|<=|>=|<|>|is|in|mismatch)(?=\W|$)")


def _guarded_value(guard: str) -> str:
    """Return what a guard is about: ``self.scale``, ``tensor 'x' size``."""
    return _COMPARISON.split(guard, maxsplit=1)[0]


def _compiled_again(items: Sequence[Recompile], function: str) -> str:
    first = items[0]
    if len(items) == 1:
        return f"{function} compiled again ({first.compile_id})"
    ids = f"{first.compile_id} to {items[-1].compile_id}"
    return f"{function} compiled again {len(items)} times ({ids})"


def _list_reasons(
    evidence: Evidence, items: Sequence[Recompile], guards: Sequence[str]
) -> Iterator[str]:
    """Yield the reasons of recompiles as texts: first the values that differ between the compiles,
    then the failed guards.
    """
    values = evidence.distinct.get(items[0].compile_id.split("/")[0], {})
    for source, every in values.items():
        more = ", …" * (len(every) > _MOST_FACTS)
        yield f"{source} has {len(every)} values: {', '.join(every[:_MOST_FACTS])}{more}"
    others = (g for g in guards if not any(g.startswith(f"{source} ") for source in values))
    yield from dict.fromkeys(map(_name_stack_value, others))


def _name_stack_value(guard: str) -> str:
    """Replace the name that Dynamo gives a value from before a break by words that a reader
    understands.
    """
    return re.sub(r"(?:tensor )?'___stack\d+(?:\[\d+\])*'", STACK_VALUE, guard)


def join_few(facts: Iterator[object] | Sequence[object]) -> str:
    """Join the first few facts by semicolons, and append how many more there are."""
    listed = [*facts]
    more = f"; and {len(listed) - _MOST_FACTS} more" if len(listed) > _MOST_FACTS else ""
    return "; ".join(map(str, listed[:_MOST_FACTS])) + more


def find_bypasses(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding if a cache cannot keep a graph, so that each start of the program compiles
    this graph.
    """
    passed = [each for each in evidence.cachings if each.state == "bypass"]
    if passed:
        graphs = len({each.compile_id for each in passed})
        seconds = evidence.compile_seconds * graphs
        yield Finding(
            "cache-bypass",
            join_few([*dict.fromkeys(map(str, passed))]),
            tuple(dict.fromkeys(each.line for each in passed if each.line))[:_MOST_PLACES],
            Cost(seconds, "s each start", "measured") if seconds else NOT_KNOWN,
        )


RULES = (find_breaks, find_recompiles, find_bypasses)
