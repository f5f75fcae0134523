"""Make one trial, in the process that was started for it."""

from __future__ import annotations

import copy
import functools
import inspect
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any
from unittest import mock

from tclab.explain import load, own_compiles, source, subject
from tclab.explain.inputs import Call
from tclab.explain.request import ExplainRequest
from tclab.explain.seeds import seeded
from tclab.explain.trials import blocks
from tclab.explain.trials.remedy import Remedy, TrialResult
from tclab.findings.dynamo import LIMIT

if TYPE_CHECKING:
    from tclab.capturing import Capture
    from tclab.capturing.agreement import Comparison


def attempt(request: ExplainRequest, remedy: Remedy) -> TrialResult:
    """Import what the request names, and make its calls with the remedy."""
    where, name = load.split(request.spec)
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
            _torch_compile(remedy) as undo,
            load.import_module(where, remedy.lines) as module,
        ):
            named = subject.find(module, where, name, request.inputs, grad=request.backward)
            if remedy.whole:
                undo()
            return _run(named, request, remedy, checkpointed)
    except (Exception, SystemExit) as error:
        return TrialResult(
            load.last_line(error) or type(error).__name__, load.find_user_line(error)
        )


def _run(
    named: subject.Subject, request: ExplainRequest, remedy: Remedy, checkpointed: Iterable[Any]
) -> TrialResult:
    from tclab.capturing import capture
    from tclab.capturing.backward import run_backward
    from tclab.capturing.torch_private import compiler

    fn = named.callable
    if remedy.rebound:
        _bind_anew(fn)
    if remedy.called_before or remedy.blocks:
        _call(fn, named.calls())
    if remedy.blocks:
        blocks.compile_each(checkpointed)
    calls = [
        (call.args, dict(call.kwargs)) for call in _change_arguments(fn, named.calls(), remedy)
    ]
    with seeded(), compiler.dynamo_settings(remedy.settings):
        if not remedy.compiled:
            for args, kwargs in calls:
                result = fn(*args, **kwargs)
                if request.backward:
                    run_backward(result)
            return TrialResult()
        if remedy.blocks or (named.own and not remedy.whole):
            result = capture(fn, backward=request.backward, as_it_is=True)
        else:
            options = {**request.options, **remedy.options}
            if remedy.backend != "inductor":
                options = {k: v for k, v in options.items() if k not in ("mode", "options")}
            result = capture(fn, backward=request.backward, backend=remedy.backend, **options)
        return summarize(result.capture_calls(calls, most_lines=0))


def _agrees(request: ExplainRequest, remedy: Remedy) -> bool:
    """Return whether the compiled file with the remedy agrees with the unchanged file in eager."""
    as_it_is, changed = (_begin_comparison(request, lines) for lines in ({}, remedy.lines))
    if isinstance(as_it_is, str) or isinstance(changed, str):
        return False
    with seeded():
        if not as_it_is.agrees_with(changed, {"backend": "eager"}):  # needs no compiler
            return False
        return as_it_is.agrees_with(changed, request.options)


def _begin_comparison(request: ExplainRequest, lines: Mapping[int, str]) -> Comparison | str:
    from tclab.capturing.agreement import Comparison

    where, name = load.split(request.spec)
    with load.import_module(where, lines) as module:
        named = subject.find(module, where, name, request.inputs, grad=request.backward)
        calls = [(call.args, dict(call.kwargs)) for call in named.calls()]
        return Comparison.begin(named.callable, calls, request.backward)


def _find_raising_operator(request: ExplainRequest) -> TrialResult:
    """Return the operator on which Inductor raises, with its line."""
    comparison = _begin_comparison(request, {})
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


@contextmanager
def _torch_compile(remedy: Remedy) -> Iterator[Callable[[], None]]:
    """Make the reader's own calls of torch.compile use the remedy's backend, or do nothing, until
    the block ends or calls the yielded function.
    """
    import torch

    with ExitStack() as stack:
        if remedy.whole:
            stack.enter_context(mock.patch.object(torch, "compile", _skip_compile))
        elif not remedy.compiled:
            stack.enter_context(mock.patch.object(torch, "compile", _skip_compile))
            stack.enter_context(torch.compiler.set_stance("force_eager"))
        elif remedy.in_place:
            own = functools.partial(_compiled_in_place, torch.compile, remedy)
            functools.update_wrapper(own, torch.compile)  # it compiles, as the original does
            stack.enter_context(mock.patch.object(torch, "compile", own))
        elif remedy.backend != "inductor":
            own = functools.partial(_compile_with_remedy, torch.compile, remedy)
            functools.update_wrapper(own, torch.compile)  # it compiles, as the original does
            stack.enter_context(mock.patch.object(torch, "compile", own))
        yield stack.close


def _skip_compile(model: Any = None, **_: object) -> Any:
    return model if model is not None else lambda function: function


def _compile_with_remedy(
    compile_: Callable[..., Any], remedy: Remedy, model: Any = None, **how: Any
) -> Any:
    kept = {k: v for k, v in how.items() if k not in ("mode", "options")}
    changed = {"backend": remedy.backend, **remedy.options, **remedy.own}
    return compile_(model, **{**kept, **changed})


def _compiled_in_place(
    compile_: Callable[..., Any], remedy: Remedy, model: Any = None, **how: Any
) -> Any:
    import torch

    if not subject.is_module(model):
        return _compile_with_remedy(compile_, remedy, model, **how)
    with mock.patch.object(torch, "compile", compile_):  # Module.compile calls it, too
        if remedy.in_place == "forward":
            model.forward = _compile_with_remedy(compile_, remedy, model.forward, **how)
        else:
            model.compile(backend=remedy.backend)
    return model


def _call(fn: Callable[..., object], calls: list[Call]) -> None:
    for call in calls:
        fn(*call.args, **call.kwargs)


def _bind_anew(fn: Any) -> None:
    for module in fn.modules() if subject.is_module(fn) else ():
        if bound := own_compiles.bound_elsewhere(module):
            module.forward = bound.__func__.__get__(module)


def _change_arguments(fn: Any, calls: list[Call], remedy: Remedy) -> list[Call]:
    """Return the calls with their arguments changed as the remedy says."""
    what, *names = remedy.arguments.split() or [""]
    if what == "same":
        last = dict(_bind(fn, calls[-1]))[names[0]]
        return [_replace_argument(fn, call, names[0], copy.deepcopy(last)) for call in calls]
    if what == "mark":
        return [_mark_dynamic(fn, call, names[0], int(names[1])) for call in calls]
    change: Callable[[Any], Any]
    if what == "two":
        change = functools.partial(_enlarge, dims=[int(name) for name in names])
    elif what == "detach":
        change = _detach
    else:
        return calls
    return [
        Call(tuple(map(change, call.args)), {k: change(v) for k, v in call.kwargs.items()})
        for call in calls
    ]


def _detach(value: Any) -> Any:
    import torch

    return value.detach() if isinstance(value, torch.nn.Parameter) else value


def _enlarge(value: Any, dims: Collection[int]) -> Any:
    """Return a tensor with size 2 in place of 0 or 1 in these dimensions; in all dimensions if none
    is named.
    """
    import torch

    if not isinstance(value, torch.Tensor):
        return value
    shape = [
        max(size, 2) if dim in dims or not dims else size for dim, size in enumerate(value.shape)
    ]
    return value if shape == list(value.shape) else value.new_zeros(shape)


def _bind(fn: Any, call: Call) -> dict[str, Any]:
    function = fn.forward if subject.is_module(fn) else fn
    return inspect.signature(function).bind(*call.args, **call.kwargs).arguments


def _replace_argument(fn: Any, call: Call, name: str, value: object) -> Call:
    """Return the call with another value for the argument `name`."""
    arguments = _bind(fn, call)
    at = list(arguments).index(name)
    if name in call.kwargs:
        return Call(call.args, {**call.kwargs, name: value})
    return Call((*call.args[:at], value, *call.args[at + 1 :]), call.kwargs)


def _mark_dynamic(fn: Any, call: Call, name: str, dim: int) -> Call:
    from tclab.capturing.torch_private import compiler

    compiler.mark_dynamic(_bind(fn, call)[name], dim)
    return call
