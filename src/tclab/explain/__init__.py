"""Open a reader's own function: what torch.compile makes of it, as one `Report`.

`explain` takes an object, `explain_named` what the command line says. Importing this imports
no PyTorch; explaining does.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tclab.explain import ahead, foreign, load, report, run, steps, subject
from tclab.explain import inputs as _inputs
from tclab.explain import options as _options
from tclab.explain.foreign import Held
from tclab.explain.steps import OnStep
from tclab.model import Report

__all__ = ["Held", "OnStep", "Report", "explain", "explain_named"]


def explain(
    fn: Callable[..., Any],
    calls: Sequence[tuple[Any, ...]] = ((),),
    *,
    target: str | None = None,
    backward: bool = False,
    assume: Mapping[str, str] | None = None,
    **options: Any,
) -> Report:
    """Compile `fn`, make every call (a tuple of arguments each), and report.

    The options go to torch.compile.

    With `backward` the results are differentiated after each call. With `target`, a GPU such
    as ``h200``, the kernels are those that GPU would get, or `Report.refusal` and `Report.gaps` say
    what cannot be known without it. What it would time is shown both ways, unless `assume` says
    which: ``{"pad": "no"}``. Raises TclabError with place, cause and next step.
    """
    run.require_torch()
    device = run.target_named(target)
    _options.check(options)
    name = getattr(fn, "__qualname__", type(fn).__name__)
    fn, remarks = subject.uncompiled(fn)
    made = [_inputs.Call(tuple(call)) for call in calls]
    _inputs.check_fit(getattr(fn, "forward", fn) if subject.is_module(fn) else fn, made, name)
    found = subject.Subject(name, name, fn, lambda: made, remarks)
    return _report(found, run.Way(device, backward, options, assume=dict(assume or {})))


def explain_named(
    spec: str,
    *,
    target: str | None = None,
    backward: bool = False,
    inputs: Sequence[str] = (),
    options: Sequence[str] = (),
    assume: Sequence[str] = (),
    long_kernels: bool = False,
    on_step: OnStep = steps.silent,
    kept: Held | None = None,
) -> Report:
    """Report on ``FILE.py:NAME`` or ``MODULE:NAME``; `inputs` are written as ``f32[8,1024]``,
    `options` of torch.compile as ``mode=max-autotune``, what is assumed of a target as ``pad=no``.
    `on_step` is told what goes on. Kernels of more than 1,000 lines are not taken down to
    instructions, which `Report.left_out` says, unless `long_kernels` asks for them.

    The same errors as `explain`; BadRequest where something named is not there. Warnings of other
    packages are not printed: `Report.warnings` has them, and `kept`, also after an error.
    """
    kept = kept or Held()
    where, name = load.split(spec)
    specs = [_inputs.parse(text) for text in inputs]
    assumed = _options.parse_assumed(assume, target)
    most = None if long_kernels else _options.MOST_LINES
    device = run.target_named(target)
    way = run.Way(device, backward, _options.parse(options), on_step, assumed, most)
    run.require_torch()
    with ahead.collecting_rarely():
        on_step("importing PyTorch")
        importlib.import_module("torch")  # its loggers are there from now on
        with foreign.held(kept):
            on_step(f"importing {where}")
            with load.loaded(where) as module:
                found = subject.find(module, where, name, specs, grad=backward)
                on_step("importing PyTorch's compiler")
                ahead.compiler_imported(cpu=way.target is None)
                _options.check(way.options)
                return replace(_report(found, way), warnings=tuple(kept.texts))


def _report(found: subject.Subject, way: run.Way) -> Report:
    calls = tuple(_inputs.describe(call) for call in found.calls())
    return report.build(found, run.run(found, way), way, calls=calls)
