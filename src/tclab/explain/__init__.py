"""Open a reader's own function: what torch.compile makes of it, as one `Report`.

`explain` takes an object, `explain_named` what the command line says. Importing this imports
no PyTorch; explaining does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tclab.errors import ExplainError, TclabError
from tclab.explain import inputs as _inputs
from tclab.explain import (
    load,
    own_compiles,
    preload,
    report,
    run,
    steps,
    subject,
    trials,
    warning_log,
)
from tclab.explain import options as _options
from tclab.explain.request import ExplainRequest, target_named
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
    """Compile `fn`, make every call (a tuple of arguments each), and report.

    The options go to torch.compile.

    With `backward` the results are differentiated after each call. With `target`, a GPU such
    as ``h200``, the kernels are those that GPU would get, or `Report.refusal` and `Report.gaps` say
    what cannot be known without it. What it would time is as measured on such a GPU or as is
    likely, unless `assume` says otherwise: ``{"pad": "both"}``. `Report.agreement` says whether the
    results are eager's: without a target unless `compare` is False, with one if it is True. Raises
    TclabError with place, cause and next step.
    """
    run.require_torch()
    name = getattr(fn, "__qualname__", type(fn).__name__)
    request = ExplainRequest(
        name, target_named(target), backward, options=options, assume=dict(assume or {}),
        compare=compare,
    )  # fmt: skip
    _options.check(options)
    inner = subject.uncompiled(fn, name)
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
    """Report on what the request names. `on_step` is called with each step as it begins.
    `Report.left_out` has the kernels that are too long to be taken down to instructions.

    The same errors as `explain`; BadRequest where something named is not there. Warnings of other
    packages are not printed: `Report.warnings` has them, and `warnings`, also after an error.
    """
    try:
        return _explain_named(request, on_step, warnings or WarningLog())
    except TclabError:
        raise
    except Exception as error:  # what is named does something odd where it is only looked at
        if place := load.place_of(error):
            cause = f"it raised where tclab looked at it: {load.last_line(error)}"
            raise ExplainError(place, cause, "correct the line") from error
        raise


def _explain_named(request: ExplainRequest, on_step: OnStep, warnings: WarningLog) -> Report:
    where, name = load.split(request.spec)
    run.require_torch()
    with preload.collecting_rarely(), redaction.show_values(request.show_values):
        on_step(Step("importing PyTorch"))
        run.import_torch()
        with warning_log.collecting(warnings):
            on_step(Step(f"importing {where}"))
            with load.loaded(where) as module:
                named = subject.find(module, where, name, request.inputs, grad=request.backward)
                on_step(Step("importing PyTorch's compiler"))
                preload.import_compiler(cpu=request.target is None)
                _options.check(request.options)
                return replace(_report(named, request, on_step), warnings=tuple(warnings.texts))


def _report(of: subject.Subject, request: ExplainRequest, on_step: OnStep) -> Report:
    if request.target is not None:
        of = of.compiled_whole()
    calls = tuple(_inputs.describe(call) for call in of.calls())
    outcome = run.Compilation(of, request, on_step).run()
    tried = trials.try_fixes(of, request, outcome, on_step)
    on_step(Step("linking the stages"))
    return report.build(of, request, outcome, calls, tried)
