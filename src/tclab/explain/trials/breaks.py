"""Try PyTorch's hints on graph breaks, if the hint names a setting."""

from __future__ import annotations

import linecache
import os
import re
from collections.abc import Mapping
from dataclasses import replace

from tclab.compare import fixes
from tclab.compare.fixes import Fix
from tclab.explain import source
from tclab.explain.trials import batch_norm, checks, failing, scalars
from tclab.explain.trials.remedy import Remedy, TrialResult
from tclab.explain.trials.runner import TrialRunner
from tclab.findings.breaks import LIMIT, TRIED, select_lines
from tclab.model import Break, Breaks
from tclab.text import user_lines

#: A setting in a hint, which can be tried.
# `torch._dynamo.config.capture_dynamic_output_shape_ops = True`
# torch._dynamo.trace_autograd_ops=True
# Change `torch._dynamo.config.trace_autograd_ops` to `True`.
SETTING = re.compile(r"torch\._dynamo\.(?:config\.)?(?P<name>\w+)(?: ?= ?|` to `)True")
#: The setting whose value is a set of functions; trials pass print.
_PRINTS = "reorderable_logging_functions"
#: PyTorch's number for the break after the backend has failed; the frame then runs in eager.
_BACKEND = "GB0219"
#: PyTorch's number for a call of torch._dynamo.graph_break().
_EXPLICIT = "GB0025"
NOT_TRIED = "(Not tried.)"
# For the common pattern `if tensor_cond: x = transform(x)` (e.g. clamping inf/nan values), …
_ASSIGNS = re.compile(r"^For the common pattern `if tensor_cond: x = transform\(x\)`")
#     x = x.clamp(max=limit)    if x.isinf().any(): x = x.clamp(max=limit)
_ASSIGNMENT = re.compile(r"^(?:\s*if .+: )?\s*[\w.\[\], ]+ [-+*/]?= ")


def try_hints(breaks: Breaks, recompile_fixes: Mapping[str, Fix], runner: TrialRunner) -> Breaks:
    """Return the breaks with the hints that help; hints that were not tried are marked. The hint
    of a break at the recompile limit is the fix for the recompiles of its function. The keys of
    `recompile_fixes` are ``file:line``.
    """
    counted = sum(item.gb_id != LIMIT for item in breaks)
    outcomes: dict[str, str] = {}
    changed = []
    for item in breaks:
        if item.gb_id == LIMIT:
            fix = recompile_fixes.get(str(item.location))
            hints: tuple[str, ...] = (fix.text,) if fix else ()
        elif item.gb_id == _EXPLICIT and not _in_users_code(item):
            hints = ()  # the break is in PyTorch's own code, so the reader has no call to remove
        elif item.skipped and item.gb_id in ("", _BACKEND):
            error = f"{item.reason} {item.explanation}"
            hints = (failing.diagnose(runner, str(item.location), error).step,)
        elif checks.only_raises(item):
            hints = _advise_check(item, counted, runner)
        elif batch_norm.reads_its_count(item):
            hints = _try_momentum(counted, runner)
        else:
            hints = tuple(
                filter(None, (_try_hint(h, counted, outcomes, runner) for h in _clean_hints(item)))
            )
            hints = hints or _try_scalars(item, counted, runner)
        changed.append(replace(item, hints=hints, tried=True))
    return replace(breaks, breaks=tuple(changed))


def _advise_check(item: Break, breaks_before: int, runner: TrialRunner) -> tuple[str, ...]:
    """Return the way round an ``if`` on a tensor that only raises; none if its trial fails."""
    assert item.location is not None
    path = source.files().get(item.location.file, item.location.file)
    if user_lines.is_library_file(path):
        return (f"{checks.advise_from_outside(item.location)} {NOT_TRIED}",)
    remedy = checks.assert_in_graph("".join(linecache.getlines(path)), item.location.line)
    if remedy is None:
        return ()
    where = runner.request.spec.rpartition(":")[0] if runner.request else ""
    is_explained = os.path.realpath(path) == os.path.realpath(where)
    return _state(remedy, runner.run(remedy) if is_explained else None, breaks_before)


def _try_momentum(breaks_before: int, runner: TrialRunner) -> tuple[str, ...]:
    """Return the way round the count of batches that a BatchNorm reads."""
    remedy = batch_norm.set_momentum(failing.read_file(runner))
    return _state(remedy, runner.run(remedy) if remedy.lines else None, breaks_before)


def _state(remedy: Remedy, result: TrialResult | None, breaks_before: int) -> tuple[str, ...]:
    """Return what to do with the outcome of its trial; nothing if it leaves as many breaks."""
    if result is None:
        return (f"{remedy.description} {NOT_TRIED}",)
    if result.error or result.breaks >= breaks_before:
        return ()
    return (f"{remedy.description} {_describe_breaks(breaks_before, result.breaks)}",)


def _try_scalars(item: Break, breaks_before: int, runner: TrialRunner) -> tuple[str, ...]:
    """Return the way round a break at which a value is read; none if there is none that helps."""
    line = item.location.line if item.location and _in_users_code(item) else 0
    error = f"{item.reason} {item.explanation}"
    way = scalars.find_way(runner, failing.read_file(runner), line, error, breaks_before)
    return tuple(filter(None, (way,)))


def _describe_breaks(breaks_before: int, after: int) -> str:
    many = "1 graph break becomes" if breaks_before == 1 else f"{breaks_before} graph breaks become"
    return f"{TRIED} {many} {after}."


def _in_users_code(item: Break) -> bool:
    return item.location is not None and bool(select_lines([item.location]))


def _clean_hints(item: Break) -> list[str]:
    hints = (" ".join(hint.split()) for hint in fixes.usable_hints(item))
    return [hint for hint in hints if not _ASSIGNS.search(hint) or _assigns(item)]


def _assigns(item: Break) -> bool:
    """Return whether what an ``if`` does is an assignment, on its line or the next one."""
    place = item.location
    path = source.files().get(place.file, "") if place else ""
    lines = linecache.getlines(path)[place.line - 1 : place.line + 1] if place else []
    return any(map(_ASSIGNMENT.match, lines))


def _try_hint(hint: str, breaks_before: int, outcomes: dict[str, str], runner: TrialRunner) -> str:
    """Return a hint with the outcome of its trial; '' if it does not help."""
    match = SETTING.search(hint)
    if match is None and _PRINTS not in hint:
        return f"{hint} {NOT_TRIED}"
    name = match["name"] if match else _PRINTS
    if name not in outcomes:
        setting = {name: True if match else {print}}
        # with a setting Dynamo can make a graph that Inductor does not compile
        result = runner.run(Remedy(settings=setting, backend="inductor"))
        if result is None:
            outcomes[name] = NOT_TRIED
        elif result.error or result.breaks >= breaks_before:
            outcomes[name] = ""
        else:
            outcomes[name] = _describe_breaks(breaks_before, result.breaks)
    outcome = outcomes[name]
    said = hint.replace(match[0], f"torch._dynamo.config.{name} = True") if match else hint
    return f"{said.rstrip('.')}. {outcome}" if outcome else ""
