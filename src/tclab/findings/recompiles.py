"""Define rules on functions that are compiled again."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from keyword import iskeyword

from tclab.compare import fixes
from tclab.compare.fixes import Fix
from tclab.compare.identity import STACK_VALUE, failed_guards
from tclab.findings import recompile_places
from tclab.findings.breaks import (
    LIMIT,
    break_reason,
    list_hints,
    prefer_user_lines,
    unique_lines,
)
from tclab.findings.evidence import Evidence
from tclab.findings.words import join_few
from tclab.model import NOT_KNOWN, Break, Cost, Finding, Recompile, SourceLine

#: A finding names at most this number of values of one source.
_MOST_VALUES = 4


def find_recompiles(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding for each function that was compiled again, and for each function at the
    recompile limit. Functions that were compiled again for other sizes, or for the same reasons,
    have one finding.
    """
    return (each for each, unavoidable in _find_merged(evidence) if not unavoidable)


def mark_recompiles(evidence: Evidence) -> Iterator[Finding]:
    """Yield the findings on unavoidable recompiles, which only mark the lines of the functions that
    were compiled again.
    """
    return (each for each, unavoidable in _find_merged(evidence) if unavoidable)


def _find_merged(evidence: Evidence) -> Iterator[tuple[Finding, bool]]:
    """Yield each finding on recompiles, and whether they are unavoidable."""
    alike: dict[object, list[_Recompiled]] = defaultdict(list)
    for each in _list_functions(evidence):
        alike[each.merge_key].append(each)
    for group in alike.values():
        yield _merge(group, evidence), group[0].is_unavoidable


def _list_functions(evidence: Evidence) -> Iterator[_Recompiled]:
    """Yield each function that was compiled again, or that is at the recompile limit."""
    by_place: dict[SourceLine, list[Recompile]] = defaultdict(list)
    for item in evidence.recompiles:
        if item.location is not None:
            by_place[item.location].append(item)
    limits = {str(item.location): item for item in evidence.breaks if item.gb_id == LIMIT}
    for place, items in by_place.items():
        yield _describe_function(evidence, place, items, limits.pop(str(place), None))
    for limit in limits.values():
        places = (limit.location,) if limit.location else ()
        fix = Fix(" Or: ".join(list_hints(limit)))
        yield _Recompiled("recompile-limit", places, "", (), (), fix, limit=break_reason(limit))


@dataclass(frozen=True)
class _Recompiled:
    """The recompiles of one function. `lines` are the lines to show, and `function` is what a
    finding calls the function at these lines. `limit` says that Dynamo gave up on the function, or
    is ''.
    """

    name: str
    lines: tuple[SourceLine, ...]
    function: str
    items: Sequence[Recompile]
    reasons: tuple[str, ...]
    fix: Fix
    cost: Cost = NOT_KNOWN
    limit: str = ""

    @property
    def merge_key(self) -> object:
        """Functions with the same key have one finding."""
        cause = self.fix.cause
        if cause == fixes.SIZES:
            same: object = self.fix.helped
        else:
            same = self.fix if cause == fixes.BREAKS else (self.reasons, self.fix)
        return self.name, self.limit, self.cost.unit, cause, same

    @property
    def is_unavoidable(self) -> bool:
        """Whether there is nothing to do. If each call compiles the function, there is something
        to do.
        """
        return self.name == "recompile" and self.fix.cause == fixes.UNAVOIDABLE

    @property
    def compiled_again(self) -> str:
        """The sentence that the function was compiled again; '' if the recompiles are unknown."""
        return _compiled_again(self.items, self.function) if self.items else ""


def _describe_function(
    evidence: Evidence, first_line: SourceLine, items: Sequence[Recompile], limit: Break | None
) -> _Recompiled:
    guards = _choose_guards(items)
    name, cost = _cost_of_recompiles(evidence, items)
    reasons = tuple(_list_reasons(evidence, items, guards))
    fix = _choose_fix(evidence, first_line, items, guards)
    lines, function = recompile_places.find(evidence, items, first_line)
    found = _Recompiled(name, lines, function, items, reasons, fix, cost)
    if limit is None:
        return found
    return replace(found, name="recompile-limit", limit=break_reason(limit))


def _choose_fix(
    evidence: Evidence, first_line: SourceLine, items: Sequence[Recompile], guards: Iterable[str]
) -> Fix:
    """Return the fix for the recompiles of one function. For a function of a library that no trial
    helped, end the breaks: without them it is part of its caller's graph. Dynamo's first frame is
    the compiled object itself.
    """
    fix = evidence.fixes.get(str(first_line)) or fixes.fix_together(guards, evidence.symbols)
    is_alone = (
        first_line.file in evidence.libraries
        and not items[0].compile_id.startswith("0/")
        and any(each.gb_id != LIMIT for each in evidence.breaks)
    )
    ends = fix.helped or fix.cause == fixes.UNAVOIDABLE
    return fixes.END_THE_BREAKS if is_alone and not ends else fix


def _merge(group: Sequence[_Recompiled], evidence: Evidence) -> Finding:
    """Return the finding on functions with the same merge key. A library's line, whose caller is
    not known, is left out if there are others.
    """
    first, lines = group[0], [line for each in group for line in each.lines]
    reasons = join_few([*dict.fromkeys(chain.from_iterable(each.reasons for each in group))])
    return Finding(
        first.name,
        ": ".join(filter(None, (first.limit, _count_compiles(group), reasons))),
        unique_lines(prefer_user_lines(lines, evidence)),
        replace(first.cost, amount=sum(each.cost.amount for each in group)),
        tuple(filter(None, [_merge_fixes([each.fix for each in group])])),
        "recompiles" if first.items else "",
    )


def _count_compiles(group: Sequence[_Recompiled]) -> str:
    if len(group) == 1:
        return group[0].compiled_again
    times = sum(len(each.items) for each in group)
    if not times:
        return f"{len(group)} functions"
    sizes = " for other sizes" if group[0].fix.cause == fixes.SIZES else ""
    every = f", {times} times in all" if times > len(group) else ""
    return f"{len(group)} functions compiled again{sizes}{every}"


def _merge_fixes(group: Sequence[Fix]) -> str:
    """Return the text of fixes with the same cause. A fix for the sizes of several functions names
    none of their arguments.
    """
    texts = {fix.text for fix in group}
    if len(texts) == 1:
        return texts.pop()
    tried = "Tried: each is compiled less often." if group[0].helped else "(Not tried.)"
    return f"{fixes.ANY_SIZE}. {tried}"


def _cost_of_recompiles(evidence: Evidence, items: Sequence[Recompile]) -> tuple[str, Cost]:
    """Return the kind of the finding on one function's recompiles, and their cost. A function
    compiles at every call only if each call after the first changed the same value.
    """
    seconds = sum(evidence.seconds_of.get(item.compile_id, 0.0) for item in items)
    names: dict[int, set[str]] = defaultdict(set)  # by call, those that the failed guards name
    for item in items:
        names[evidence.call_of.get(item.compile_id, 0)].update(_list_guarded_names(item))
    later = evidence.calls - 1
    if later > 1 and set.intersection(*(names[call] for call in range(2, evidence.calls + 1))):
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


# tensor 'x' size mismatch at index 0    (x.size()[1] / 4) == 24.0    len(bag.items) == 2
_TENSOR, _NAME = re.compile(r"tensor '(.+?)'"), re.compile(r"([A-Za-z_][\w.]*)(\(?)")


def _list_guarded_names(item: Recompile) -> set[str]:
    """Return the variables that the failed guard of the newest cache entry is about."""
    guarded = _guarded_value("".join(failed_guards(item)[:1]))
    if tensor := _TENSOR.match(guarded):
        return {tensor[1]}
    found = (
        name.removesuffix(".size") if call else name
        for name, call in _NAME.findall(guarded)
        if (not call and not iskeyword(name)) or name.endswith(".size")
    )
    return set(found)


def _compiled_again(items: Sequence[Recompile], function: str) -> str:
    first = items[0]
    if len(items) == 1:
        return f"{function} compiled again ({first.compile_id})"
    ids = f"{first.compile_id} to {items[-1].compile_id}"
    return f"{function} compiled again {len(items)} times ({ids})"


def _list_reasons(
    evidence: Evidence, items: Sequence[Recompile], guards: Iterable[str]
) -> Iterator[str]:
    """Yield the reasons of recompiles as texts: first the values that differ between the compiles,
    then the failed guards, and then the numbers that changed beside these. PyTorch names the first
    guard that failed, and no other.
    """
    values = evidence.distinct.get(items[0].compile_id.split("/")[0], {})
    for source, every in values.items():
        more = ", …" * (len(every) > _MOST_VALUES)
        yield f"{source} has {len(every)} values: {', '.join(every[:_MOST_VALUES])}{more}"
    others = (g for g in guards if not any(g.startswith(f"{source} ") for source in values))
    yield from dict.fromkeys(map(_name_stack_value, others))
    failed = " ".join(chain.from_iterable(map(failed_guards, items)))
    for item in items:
        for number in evidence.became.get(item.compile_id, ()):
            if number not in failed:
                yield f"{number} changed, too"


def _name_stack_value(guard: str) -> str:
    """Replace the name that Dynamo gives a value from before a break by words that a reader
    understands.
    """
    return re.sub(r"(?:tensor )?'___stack\d+(?:\[\d+\])*'", STACK_VALUE, guard)


RULES = (find_recompiles,)
