"""List the changes that may end the recompiles of a function."""

from __future__ import annotations

import ast
import inspect
import linecache
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tclab.explain import source
from tclab.explain.trials.remedy import Remedy
from tclab.explain.trials.runner import TrialRunner

if TYPE_CHECKING:
    from tclab.explain.subject import Subject
    from tclab.model import SourceLine

#: A recompile limit that is too high for a trial to reach.
_UNREACHABLE_LIMIT = 64

SIZE = re.compile(r"tensor '(?P<what>.+?)' size mismatch at index (?P<at>\d+)")
NUMBER = re.compile(r"(?P<what>[\w.\[\]']+) == -?\d")
#   self._table is None    not bag.items    len(bag.items) == 2    ___dict_contains('a', bag.items)
_STATE = re.compile(
    r"(?:(?P<none>[\w.]+) is None|not (?P<empty>[\w.]+)|len\((?P<len>[\w.]+)\) == \d+"
    r"|(?:not )?___dict_contains\(.+, (?P<dict>[\w.]+)\))$"
)


@dataclass(frozen=True)
class RecompiledFunction:
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


def list_remedies(
    function: RecompiledFunction, subject: Subject, runner: TrialRunner
) -> Iterator[Remedy]:
    """Yield the changes to try, in the order in which they are tried."""
    dynamic = runner.request is not None and runner.request.options.get("dynamic") is True
    arguments = _list_arguments(subject)
    sizes = function.sizes
    if sizes:
        if not dynamic:
            yield DYNAMIC
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
    numbers = [match for guard in function.guards if (match := NUMBER.match(guard))]
    if numbers and not sizes:
        if not dynamic:
            yield replace(DYNAMIC, description=_DYNAMIC_NUMBER)
        if any("." in match["what"] for match in numbers):
            yield _UNSPECIALISED
    if function.limited and subject.own:
        yield _ISOLATED
        yield _COMPILE_WHOLE
    if function.limited:
        said = "Raise torch._dynamo.config.recompile_limit to the number of compiles."
        yield Remedy(said, settings={"recompile_limit": _UNREACHABLE_LIMIT})


DYNAMIC = Remedy(
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
FOR_PARAMETERS = (_DETACHED, _UNMARK_STATIC)
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
