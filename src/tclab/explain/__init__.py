"""Explain a reader's own function: return what torch.compile makes of it as one `Report`.

`explain` takes an object, and `explain_named` takes a request from the command line. Importing this
package imports no PyTorch; a call of these functions does.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tclab.errors import ExplainError, TclabError
from tclab.explain import (
    hip,
    load,
    measure,
    own_compiles,
    preload,
    report,
    run,
    steps,
    subject,
    trials,
    uncalled,
    warning_log,
)
from tclab.explain import inputs as _inputs
from tclab.explain import options as _options
from tclab.explain.request import ExplainRequest, find_target
from tclab.explain.steps import OnStep, Step
from tclab.explain.warning_log import WarningLog
from tclab.model import Report
from tclab.text import redaction

__all__ = [
    "ExplainRequest",
    "OnStep",
    "Report",
    "Step",
    "WarningLog",
    "explain",
    "explain_named",
]


def explain(
    fn: Callable[..., object],
    calls: Sequence[tuple[object, ...]] = ((),),
    *,
    target: str | None = None,
    backward: bool = False,
    assume: Mapping[str, str] | None = None,
    compare: bool | None = None,
    **options: Any,
) -> Report:
    """Compile `fn`, call it with each tuple of arguments in `calls`, and return the report.

    The options go to torch.compile.

    With `backward` each call is followed by a backward pass. With `target`, a GPU such as ``h200``,
    the kernels are those for that GPU; `Report.refusal` and `Report.gaps` name what cannot be known
    without it. Choices that the GPU makes by timing get the answers measured on such a GPU, or else
    the likely answers; `assume` overrides them: ``{"pad": "both"}``. `Report.agreement` says
    whether the results agree with eager's. Without a target they are compared unless `compare` is
    False; with a target only if it is True. Raises TclabError with place, cause and next step.
    """
    run.require_torch()
    name = getattr(fn, "__qualname__", type(fn).__name__)
    request = ExplainRequest(
        name, find_target(target), backward, options=options, assume=dict(assume or {}),
        compare=compare,
    )  # fmt: skip
    _options.check(options)
    inner = subject.strip_compile(fn, name)
    listed = [_inputs.Call(tuple(call)) for call in calls]
    function = inner.forward if subject.is_module(inner) else inner
    _inputs.check_fit(function, listed, name)
    given = subject.Subject(name, name, fn, lambda: listed, own=own_compiles.find(fn))
    return _report(given, request, steps.silent)


def explain_named(
    request: ExplainRequest,
    *,
    on_step: OnStep = steps.silent,
    warnings: WarningLog | None = None,
) -> Report:
    """Report on the function or module of the request; call `on_step` when a step begins.
    `Report.left_out` lists the kernels that are too long to be compiled to instructions.

    Raises the same errors as `explain`, and BadRequest if the request names something that does not
    exist. Warnings of other packages are not printed, but collected in `Report.warnings` and in
    `warnings`, which has them also after an error.
    """
    try:
        return _explain_named(request, on_step, warnings or WarningLog())
    except TclabError:
        raise
    except Exception as error:  # reading an attribute of the named object raises
        if place := load.find_user_line(error):
            cause = f"it raised where tclab looked at it: {load.last_line(error)}"
            raise ExplainError(place, cause, "correct the line") from error
        raise


def _explain_named(request: ExplainRequest, on_step: OnStep, warnings: WarningLog) -> Report:
    where, _ = load.split(request.spec)
    run.require_torch()
    with preload.collecting_rarely(), redaction.show_values(request.show_values):
        on_step(Step("importing PyTorch"))
        run.import_torch()
        hip.prepare_process(request.target)
        with warning_log.collecting(warnings):
            on_step(Step(f"importing {where}"))
            with contextlib.ExitStack() as imported:
                with uncalled.recording() as compile_calls:
                    module = imported.enter_context(load.import_module(where))
                    named = subject.find_requested(module, request, compile_calls)
                on_step(Step("importing PyTorch's compiler"))
                preload.import_compiler(cpu=request.target is None)
                _options.check(request.options)
                return replace(_report(named, request, on_step), warnings=tuple(warnings.texts))


def _report(explained: subject.Subject, request: ExplainRequest, on_step: OnStep) -> Report:
    if request.target is not None:
        explained = explained.compiled_whole()
    calls = tuple(_inputs.describe(call) for call in explained.calls())
    outcome = run.Compilation(explained, request, on_step).run()
    tried = trials.try_fixes(explained, request, outcome, on_step)
    measurement = measure.measure(request, on_step) if request.measure else None
    on_step(Step("linking the stages"))
    return report.build(explained, request, outcome, calls, tried, measurement)
