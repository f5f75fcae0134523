"""Find, by trials, the change that ends the recompiles of a function."""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from tclab.compare import fixes
from tclab.compare.fixes import Fix
from tclab.compare.identity import failed_guards, readable_source
from tclab.explain import distinct_values, source
from tclab.explain.trials import rewrites
from tclab.explain.trials.attempt import summarize
from tclab.explain.trials.recompile_remedies import (
    DYNAMIC,
    FOR_PARAMETERS,
    NUMBER,
    SIZE,
    RecompiledFunction,
    list_remedies,
)
from tclab.explain.trials.remedy import Remedy, TrialResult
from tclab.explain.trials.runner import TrialRunner
from tclab.findings.breaks import LIMIT

if TYPE_CHECKING:
    from tclab.capturing import Capture
    from tclab.explain.subject import Subject

#: A report lists at most this number of the remedies that help.
_MOST_REMEDIES = 2


def find_fixes(capture: Capture, subject: Subject, runner: TrialRunner) -> dict[str, Fix]:
    """Map each function to the fix for its recompiles, or to an untried suggestion. The key is the
    ``file:line`` of its first line.
    """
    before = summarize(capture)
    symbols = {readable_source(symbol.source) for symbol in capture.symbols.symbols}
    return {
        function.key: _find_fix(
            function, before, list(list_remedies(function, subject, runner)), symbols, runner
        )
        for function in _list_functions(capture)
    }


def _list_functions(capture: Capture) -> Iterator[RecompiledFunction]:
    from tclab.capturing.read.frames import library_files

    limits = {str(b.location) for b in capture.breaks if b.gb_id == LIMIT}
    libraries = library_files(capture.trace)
    distinct = distinct_values.find(capture)
    by_place: dict[str, RecompiledFunction] = {}
    for item in capture.recompiles.recompiles:
        if item.location is not None:
            key = str(item.location)
            values = distinct.get(item.compile_id.split("/")[0], {})
            first = tuple(f"{what} == {each[0]}" for what, each in values.items())
            new = RecompiledFunction(item.location, first, key in limits)
            of = by_place.get(key, replace(new, in_library=item.location.file in libraries))
            guards = failed_guards(item)
            sizes = filter(None, map(SIZE.match, guards))
            by_place[key] = replace(of, guards=(*of.guards, *guards[:1]), sizes=(*of.sizes, *sizes))
    yield from by_place.values()


def _find_fix(
    function: RecompiledFunction, before: TrialResult, remedies: list[Remedy],
    symbols: set[str], runner: TrialRunner,
) -> Fix:  # fmt: skip
    helped, failed = [], []
    enough: list[Remedy] = []
    for remedy in remedies:
        if any(_is_more_than(remedy, each) for each in enough):
            continue
        result = runner.run(remedy)
        if result is None:
            break
        if outcome := _describe_outcome(function, remedy, before, result):
            helped.append(f"{remedy.description} Tried: {outcome}.")
            enough.append(remedy)
        else:
            failed.append(remedy)
        if len(helped) == _MOST_REMEDIES:
            break
    if helped:
        is_dynamic = replace(enough[0], description=DYNAMIC.description) == DYNAMIC
        cause = fixes.SIZES if is_dynamic else ""
        return Fix(" Or: ".join(helped), cause, helped=True)
    known = fixes.fix_together(_drop_repeated_guards(function.guards), symbols)
    if known.cause == fixes.UNAVOIDABLE:
        return known
    if failed:
        shown = [remedy for remedy in failed if remedy not in FOR_PARAMETERS]
        tried = "; ".join(remedy.description.rstrip(".") for remedy in shown)
        cause = _explain_loop(function) or _explain_constant(function)
        return Fix(f"{cause}Nothing that was tried ends it ({tried}).")
    return replace(known, text=f"{known.text} (Not tried.)")


def _is_more_than(remedy: Remedy, other: Remedy) -> bool:
    """Return whether a remedy includes the other remedy, which has only options, and changes
    something more.
    """
    return remedy != other and replace(other, description=remedy.description) == Remedy(
        remedy.description, options=remedy.options
    )


def _drop_repeated_guards(guards: tuple[str, ...]) -> list[str]:
    """Return the guards without repetitions: of several guards on the values of one number, only
    the first is returned.
    """
    matches = {guard: NUMBER.match(guard) for guard in guards}
    first = {
        (match["what"] if match else guard): guard for guard, match in reversed(matches.items())
    }
    return [guard for guard in matches if guard in first.values()]


def _describe_outcome(
    function: RecompiledFunction, remedy: Remedy, before: TrialResult, after: TrialResult
) -> str:
    """Return a clause that says how a remedy helped; '' if it did not help. A function that is
    skipped without the remedy, too, is no error of the remedy.
    """
    once, now = before.compiles.get(function.key, 0), after.compiles.get(function.key, 0)
    if after.error not in ("", before.error) or function.key in after.limits:
        return ""
    if remedy.whole:
        return _describe_fewer_compiles(before, after)
    if not now:
        return ""
    if function.limited and now >= once:
        return f"it is compiled {now} times, and no call meets the limit"
    times = "once" if now == 1 else f"{now} times"
    return f"it is compiled {times} instead of {once} times" if now < once else ""


def _describe_fewer_compiles(before: TrialResult, after: TrialResult) -> str:
    once, now = sum(before.compiles.values()), sum(after.compiles.values())
    return f"compiles: {now} in place of {once}" if 0 < now < once else ""


def _explain_constant(function: RecompiledFunction) -> str:
    """Explain a number that stays a constant; return '' if no guard is on a number."""
    numbers = [match["what"] for guard in function.guards if (match := NUMBER.match(guard))]
    return f"Each value of {numbers[0]} is compiled once. " if numbers else ""


#   x.shape[1]    x.size(1)    len(xs)
_COUNTS = re.compile(r"\.shape\b|\.size\(|\blen\(")


def _explain_loop(function: RecompiledFunction) -> str:
    """Explain a loop over a size, whose steps are all in the graph; return '' if there is no such
    loop.
    """
    if not function.sizes:
        return ""
    lines = linecache.getlines(source.files().get(function.place.file, ""))
    for node in ast.walk(rewrites.parse_file("".join(lines))):
        if isinstance(node, ast.FunctionDef) and node.lineno == function.place.line:
            for loop in (each for each in ast.walk(node) if isinstance(each, ast.For)):
                if _COUNTS.search(ast.unparse(loop.iter)):
                    code = f"for {ast.unparse(loop.target)} in {ast.unparse(loop.iter)}"
                    return (
                        f"`{code}` ({function.place.file}:{loop.lineno}) is unrolled: each number "
                        "of steps is a compile of its own, and the graph grows with it. Compile "
                        "what one step does, as a function that the loop calls. (Not tried.) "
                    )
    return ""
