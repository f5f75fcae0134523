"""Make one trial, in the process that was started for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tclab.explain import load, own_agreement, own_compiles, source, subject
from tclab.explain.inputs import Call
from tclab.explain.request import ExplainRequest
from tclab.explain.seeds import seeded
from tclab.explain.trials import arguments, blocks
from tclab.explain.trials.patching import patched_compile
from tclab.explain.trials.remedy import Remedy, TrialResult
from tclab.findings.breaks import LIMIT

if TYPE_CHECKING:
    from tclab.capturing import Capture
    from tclab.capturing.agreement import Comparison


def attempt(request: ExplainRequest, remedy: Remedy) -> TrialResult:
    """Import the function or module that the request names, and make its calls with the remedy."""
    where, _ = load.split(request.spec)
    try:
        if remedy.compared:
            return TrialResult(agrees=_agrees(request, remedy))
        if remedy.halved:
            return _find_raising_operator(request)
        recording: AbstractContextManager[list[Any]] = nullcontext([])
        if remedy.blocks:
            recording = blocks.record_checkpoints()
        with (
            recording as checkpointed,
            patched_compile(remedy) as undo,
            load.import_module(where, remedy.lines) as module,
        ):
            named_subject = subject.find_requested(module, request)
            if remedy.whole:
                undo()
            return _run(named_subject, request, remedy, checkpointed)
    except (Exception, SystemExit) as error:
        return TrialResult(
            load.last_line(error) or type(error).__name__, load.find_user_line(error)
        )


def _run(
    named_subject: subject.Subject,
    request: ExplainRequest,
    remedy: Remedy,
    checkpointed: Iterable[Any],
) -> TrialResult:
    from tclab.capturing import capture
    from tclab.capturing.backward import run_backward
    from tclab.capturing.torch_private import compiler

    fn = named_subject.callable
    if remedy.rebound:
        bind_anew(fn)
    if remedy.called_before or remedy.blocks:
        _run_calls(fn, named_subject.calls())
    if remedy.blocks:
        blocks.compile_each(checkpointed)
    numbers: tuple[str, ...] = ()
    if remedy.arguments == "numbers":
        numbers = arguments.name_numbers(fn, named_subject.calls()[0])
        if not numbers:
            return TrialResult("no argument is a tensor without dimensions")
    calls = [
        (call.args, dict(call.kwargs))
        for call in arguments.change_arguments(fn, named_subject.calls(), remedy)
    ]
    with seeded(), compiler.dynamo_settings(remedy.settings):
        if not remedy.compiled:
            for args, kwargs in calls:
                result = fn(*args, **kwargs)
                if request.backward:
                    run_backward(result)
            return TrialResult()
        if remedy.blocks or (named_subject.own and not remedy.whole):
            result = capture(fn, backward=request.backward, as_it_is=True)
        else:
            options = {**request.options, **remedy.options}
            if remedy.backend != "inductor":
                options = {k: v for k, v in options.items() if k not in ("mode", "options")}
            result = capture(fn, backward=request.backward, backend=remedy.backend, **options)
        summary = summarize(result.capture_calls(calls, most_lines=0))
        return replace(summary, numbers=numbers)


def _agrees(request: ExplainRequest, remedy: Remedy) -> bool:
    """Return whether the results of the compiled file with the remedy agree with those of the
    unchanged file in eager.
    """
    from tclab.capturing.torch_private import compiler

    as_it_is, changed = (
        _begin_comparison(request, each) for each in (own_agreement.UNCHANGED, remedy)
    )
    if isinstance(as_it_is, str) or isinstance(changed, str):
        return False
    with seeded(), compiler.dynamo_settings(remedy.settings):
        # compare in eager first, which needs no compiler
        if not as_it_is.agrees_with(changed, {"backend": "eager"}):
            return False
        options = {} if changed.runs_own_compiles else request.options
        return as_it_is.agrees_with(changed, options)


def _begin_comparison(request: ExplainRequest, remedy: Remedy) -> Comparison | str:
    from tclab.capturing.agreement import Comparison

    where, _ = load.split(request.spec)
    with patched_compile(remedy), load.import_module(where, remedy.lines) as module:
        named = subject.find_requested(module, request)
        if named.own:
            return own_agreement.begin(request, named, remedy)
        changed = arguments.change_arguments(named.callable, named.calls(), remedy)
        calls = [(call.args, dict(call.kwargs)) for call in changed]
        return Comparison.begin(named.callable, calls, request.backward)


def _find_raising_operator(request: ExplainRequest) -> TrialResult:
    """Return the operator on which Inductor raises, with its line."""
    comparison = _begin_comparison(request, own_agreement.UNCHANGED)
    found = None if isinstance(comparison, str) else comparison.raising_operator()
    if found is None or found.line is None:
        return TrialResult()
    file = source.files().get(found.line.file, found.line.file)
    return TrialResult(place=f"{file}:{found.line.line}", operator=found.name)


def summarize(capture: Capture) -> TrialResult:
    """Count the breaks and compiles of a capture, and list the functions at the recompile limit."""
    limits = [item for item in capture.breaks if item.gb_id == LIMIT]
    failed = next((b.reason for b in capture.breaks if b.skipped and b not in limits), "")
    return TrialResult(
        error=failed,
        breaks=len(capture.breaks) - len(limits),
        compiles=count_compiles(capture),
        limits=tuple(str(item.location) for item in limits),
        held=max((each.held for each in capture.checkpoints), default=0),
    )


def count_compiles(capture: Capture) -> dict[str, int]:
    """Map each function, as ``file:line`` of its first line, to the number of its compiles."""
    from tclab.capturing.read.frames import failed_compiles, frames_by_compile

    failed = failed_compiles(capture.trace)
    frames = frames_by_compile(capture.trace)
    return dict(Counter(str(f.location) for ident, f in frames.items() if ident not in failed))


# --------------------------------------------------------------------------- the changes


def _run_calls(fn: Callable[..., object], calls: list[Call]) -> None:
    for call in calls:
        fn(*call.args, **call.kwargs)


def bind_anew(fn: Any) -> None:
    for module in fn.modules() if subject.is_module(fn) else ():
        if bound := own_compiles.bound_elsewhere(module):
            module.forward = bound.__func__.__get__(module)
