"""Find, by trials, the change that ends the recompiles of a function."""

from __future__ import annotations

import ast
import inspect
import linecache
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tclab.compare import fixes
from tclab.compare.fixes import Fix
from tclab.compare.identity import failed_guards, readable_source
from tclab.explain import distinct_values, source
from tclab.explain.trials import rewrites
from tclab.explain.trials.attempt import summarize
from tclab.explain.trials.remedy import Remedy, TrialResult
from tclab.explain.trials.runner import TrialRunner
from tclab.findings.breaks import LIMIT

if TYPE_CHECKING:
    from tclab.capturing import Capture
    from tclab.explain.subject import Subject
    from tclab.model import SourceLine

#: A recompile limit that is too high for a trial to reach.
_UNREACHABLE_LIMIT = 64
#: A report lists at most this number of the remedies that help.
_MOST_REMEDIES = 2

_SIZE = re.compile(r"tensor '(?P<what>.+?)' size mismatch at index (?P<at>\d+)")
_NUMBER = re.compile(r"(?P<what>[\w.\[\]']+) == -?\d")
#   self._table is None    not bag.items    len(bag.items) == 2    ___dict_contains('a', bag.items)
_STATE = re.compile(
    r"(?:(?P<none>[\w.]+) is None|not (?P<empty>[\w.]+)|len\((?P<len>[\w.]+)\) == \d+"
    r"|(?:not )?___dict_contains\(.+, (?P<dict>[\w.]+)\))$"
)


@dataclass(frozen=True)
class _Function:
    """A function that was compiled again: its first line, the failed guard of the newest cache
    entry at each recompile, and whether it reached the recompile limit. `sizes` are the failed
    guards on sizes, of all cache entries. `in_library` says that it is no function of the reader's.
    """

    place: SourceLine
    guards: tuple[str, ...]
    limited: bool
    sizes: tuple[re.Match[str], ...] = ()
    in_library: bool = False

    @property
    def key(self) -> str:
        return str(self.place)


def find_fixes(capture: Capture, subject: Subject, runner: TrialRunner) -> dict[str, Fix]:
    """Map each function to the fix for its recompiles, or to an untried suggestion. The key is the
    ``file:line`` of its first line.
    """
    before = summarize(capture)
    symbols = {readable_source(symbol.source) for symbol in capture.symbols.symbols}
    return {
        function.key: _find_fix(
            function, before, list(_list_remedies(function, subject, runner)), symbols, runner
        )
        for function in _list_functions(capture)
    }


def _list_functions(capture: Capture) -> Iterator[_Function]:
    from tclab.capturing.read.frames import library_files

    limits = {str(b.location) for b in capture.breaks if b.gb_id == LIMIT}
    libraries = library_files(capture.trace)
    distinct = distinct_values.find(capture)
    by_place: dict[str, _Function] = {}
    for item in capture.recompiles.recompiles:
        if item.location is not None:
            key = str(item.location)
            values = distinct.get(item.compile_id.split("/")[0], {})
            first = tuple(f"{what} == {each[0]}" for what, each in values.items())
            new = _Function(item.location, first, key in limits)
            of = by_place.get(key, replace(new, in_library=item.location.file in libraries))
            guards = failed_guards(item)
            sizes = filter(None, map(_SIZE.match, guards))
            by_place[key] = replace(of, guards=(*of.guards, *guards[:1]), sizes=(*of.sizes, *sizes))
    yield from by_place.values()


def _find_fix(function: _Function, before: TrialResult, remedies: list[Remedy], symbols: set[str],
         runner: TrialRunner) -> Fix:  # fmt: skip
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
        is_dynamic = replace(enough[0], description=_DYNAMIC.description) == _DYNAMIC
        cause = fixes.SIZES if is_dynamic else ""
        return Fix(" Or: ".join(helped), cause, helped=True)
    known = fixes.fix_together(_drop_repeated_guards(function.guards), symbols)
    if known.cause == fixes.UNAVOIDABLE:
        return known
    if failed:
        shown = [remedy for remedy in failed if remedy not in _FOR_PARAMETERS]
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
    matches = {guard: _NUMBER.match(guard) for guard in guards}
    first = {
        (match["what"] if match else guard): guard for guard, match in reversed(matches.items())
    }
    return [guard for guard in matches if guard in first.values()]


def _describe_outcome(
    function: _Function, remedy: Remedy, before: TrialResult, after: TrialResult
) -> str:
    """Return a clause that says how a remedy helped; '' if it did not help."""
    once, now = before.compiles.get(function.key, 0), after.compiles.get(function.key, 0)
    if after.error or function.key in after.limits:
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


def _explain_constant(function: _Function) -> str:
    """Explain a number that stays a constant; return '' if no guard is on a number."""
    numbers = [match["what"] for guard in function.guards if (match := _NUMBER.match(guard))]
    return f"Each value of {numbers[0]} is compiled once. " if numbers else ""


#   x.shape[1]    x.size(1)    len(xs)
_COUNTS = re.compile(r"\.shape\b|\.size\(|\blen\(")


def _explain_loop(function: _Function) -> str:
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


# --------------------------------------------------------------------------- remedies to try


def _list_remedies(function: _Function, subject: Subject, runner: TrialRunner) -> Iterator[Remedy]:
    dynamic = runner.request is not None and runner.request.options.get("dynamic") is True
    arguments = _list_arguments(subject)
    sizes = function.sizes
    if sizes:
        if not dynamic:
            yield _DYNAMIC
        places = {(match["what"], match["at"]) for match in sizes}
        if len(places) == 1 and sizes[0]["what"] in arguments:
            what, at = sizes[0]["what"], sizes[0]["at"]
            said = f"Mark the argument with torch._dynamo.mark_dynamic({what}, {at})."
            yield Remedy(said, arguments=f"mark {what} {at}")
        yield _DETACHED
        yield _UNMARK_STATIC
    drifts = any("requires_grad mismatch. expected requires_grad=0" in g for g in function.guards)
    if drifts and not function.in_library:
        yield _GRADIENTS
    states = [match for guard in function.guards if (match := _STATE.match(guard))]
    for what in dict.fromkeys(next(filter(None, match.groups())) for match in states):
        if line := _find_assignment(function.place, what):
            said = f"The function itself writes {what} ({line}): make it before the first compiled "
            yield Remedy(f"{said}call, in __init__.", called_before=True)
        if (root := what.split(".")[0]) in arguments:
            said = f"Give {what} one fixed size from the first call on (a dictionary all its "
            said += "keys), or return the new value and store it after the call."
            yield Remedy(said, arguments=f"same {root}")
    numbers = [match for guard in function.guards if (match := _NUMBER.match(guard))]
    if numbers and not sizes:
        if not dynamic:
            yield replace(_DYNAMIC, description=_DYNAMIC_NUMBER)
        if any("." in match["what"] for match in numbers):
            yield _UNSPECIALISED
    if function.limited and subject.own:
        yield _ISOLATED
        yield _COMPILE_WHOLE
    if function.limited:
        said = "Raise torch._dynamo.config.recompile_limit to the number of compiles."
        yield Remedy(said, settings={"recompile_limit": _UNREACHABLE_LIMIT})


_DYNAMIC = Remedy(
    "Compile with dynamic=True: one compile serves all sizes.", options={"dynamic": True}
)
_DYNAMIC_NUMBER = "Compile with dynamic=True: a number is then a symbol."
_DETACHED = Remedy(
    "The sizes of a Parameter are static: pass it as a plain tensor, with .detach(), and compile "
    "with dynamic=True.",
    options={"dynamic": True},
    arguments="detach",
)
_UNMARK_STATIC = Remedy(
    "Set torch._dynamo.config.force_parameter_static_shapes = False and compile with dynamic=True.",
    options={"dynamic": True},
    settings={"force_parameter_static_shapes": False},
)
#: Remedies that a report names only if they help, because a guard does not say what a parameter is.
_FOR_PARAMETERS = (_DETACHED, _UNMARK_STATIC)
_GRADIENTS = Remedy(
    "Let the arguments of the calls require grad, by x.requires_grad_(), as what follows them "
    "does: it is then the same in every call.",
    arguments="grad",
)
# Inductor is in the trial, because it makes a constant of a number where a library asks for one.
_UNSPECIALISED = Remedy(
    "Set torch._dynamo.config.allow_unspec_int_on_nn_module = True.",
    settings={"allow_unspec_int_on_nn_module": True},
    backend="inductor",
)


_ISOLATED = Remedy(
    "Compile each with torch.compile(…, isolate_recompiles=True): each object then has a limit of "
    "its own.",
    own={"isolate_recompiles": True},
)
_COMPILE_WHOLE = Remedy("Compile the whole once, in place of its parts.", whole=True)


def _list_arguments(subject: Subject) -> set[str]:
    """Return the names of the subject's own arguments."""
    function = getattr(subject.callable, "forward", subject.callable)
    try:
        return set(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return set()


def _find_assignment(place: SourceLine, what: str) -> str:
    """Return the line of the function's file that assigns to an attribute or its elements outside
    of __init__; '' if there is none.
    """
    name = what.rpartition(".")[2]
    try:
        tree = ast.parse("".join(linecache.getlines(source.files().get(place.file, ""))))
    except SyntaxError:
        return ""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef) and function.name != "__init__":
            for node in ast.walk(function):
                if isinstance(node, ast.Assign) and any(_assigns_to(t, name) for t in node.targets):
                    return f"{place.file}:{node.lineno}"
    return ""


def _assigns_to(target: ast.expr, name: str) -> bool:
    if isinstance(target, ast.Subscript):
        target = target.value
    return isinstance(target, ast.Attribute) and target.attr == name
