"""Make one trial, in the process that was started for it."""

from __future__ import annotations

import copy
import functools
import inspect
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from tclab.explain import load, own_agreement, own_compiles, source, subject
from tclab.explain.inputs import Call
from tclab.explain.request import ExplainRequest
from tclab.explain.seeds import seeded
from tclab.explain.trials import blocks
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
    calls = [
        (call.args, dict(call.kwargs))
        for call in change_arguments(fn, named_subject.calls(), remedy)
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
        return summarize(result.capture_calls(calls, most_lines=0))


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
        calls = [(call.args, dict(call.kwargs)) for call in named.calls()]
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


def change_arguments(fn: Any, calls: list[Call], remedy: Remedy) -> list[Call]:
    """Return the calls with their arguments changed as the remedy says."""
    what, *names = remedy.arguments.split() or [""]
    if what == "same":
        last = dict(_bind_arguments(fn, calls[-1]))[names[0]]
        return [_replace_argument(fn, call, names[0], copy.deepcopy(last)) for call in calls]
    if what == "mark":
        return [_mark_dynamic(fn, call, names[0], int(names[1])) for call in calls]
    change: Callable[[Any], Any]
    if what == "two":
        change = functools.partial(_enlarge, dims=[int(name) for name in names])
    elif what == "detach":
        change = _detach
    elif what == "grad":
        change = _require_grad
    else:
        return calls
    return [
        Call(tuple(map(change, call.args)), {k: change(v) for k, v in call.kwargs.items()})
        for call in calls
    ]


def _detach(value: Any) -> Any:
    import torch

    return value.detach() if isinstance(value, torch.nn.Parameter) else value


def _require_grad(value: Any) -> Any:
    import torch

    floats = isinstance(value, torch.Tensor) and value.is_floating_point()
    return value.detach().requires_grad_() if floats else value


def _enlarge(value: Any, dims: Collection[int]) -> Any:
    """Return a tensor with size 2 in place of size 0 or 1 in the dimensions `dims`; in all
    dimensions if `dims` is empty.
    """
    import torch

    if not isinstance(value, torch.Tensor):
        return value
    shape = [
        max(size, 2) if dim in dims or not dims else size for dim, size in enumerate(value.shape)
    ]
    return value if shape == list(value.shape) else value.new_zeros(shape)


def _bind_arguments(fn: Any, call: Call) -> dict[str, Any]:
    function = fn.forward if subject.is_module(fn) else fn
    return inspect.signature(function).bind(*call.args, **call.kwargs).arguments


def _replace_argument(fn: Any, call: Call, name: str, value: object) -> Call:
    """Return the call with another value for the argument `name`."""
    arguments = _bind_arguments(fn, call)
    at = list(arguments).index(name)
    if name in call.kwargs:
        return Call(call.args, {**call.kwargs, name: value})
    return Call((*call.args[:at], value, *call.args[at + 1 :]), call.kwargs)


def _mark_dynamic(fn: Any, call: Call, name: str, dim: int) -> Call:
    from tclab.capturing.torch_private import compiler

    compiler.mark_dynamic(_bind_arguments(fn, call)[name], dim)
    return call
