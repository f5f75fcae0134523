"""Open a reader's own function: what torch.compile makes of it, as one `Report`.

`explain` takes an object, `explain_named` what the command line says. Importing this imports
no PyTorch; explaining does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tclab.explain import inputs as _inputs
from tclab.explain import load, report, run, subject
from tclab.explain.report import Report

__all__ = ["Report", "explain", "explain_named"]


def explain(fn: Callable[..., Any], calls: Sequence[tuple[Any, ...]] = ((),), *,
            target: str | None = None, backward: bool = False,
            **options: Any) -> Report:  # fmt: skip
    """Compile `fn`, make every call (a tuple of arguments each), and report.

    The options go to torch.compile.

    With `backward` the results are differentiated after each call. With `target`, a GPU such
    as ``h200``, the kernels are those that GPU would get, or `Report.refusal` says what cannot
    be known without it. Raises TclabError with place, cause and next step.
    """
    run.require_torch()
    device = run.target_named(target)
    name = getattr(fn, "__qualname__", type(fn).__name__)
    fn, remarks = subject.uncompiled(fn)
    made = [_inputs.Call(tuple(call)) for call in calls]
    _inputs.check_fit(getattr(fn, "forward", fn) if subject.is_module(fn) else fn, made, name)
    found = subject.Subject(name, name, fn, lambda: made, remarks)
    return _report(found, device, backward, options)


def explain_named(spec: str, *, target: str | None = None, backward: bool = False,
                  inputs: Sequence[str] = (), options: Sequence[str] = ()) -> Report:  # fmt: skip
    """Report on ``FILE.py:NAME`` or ``MODULE:NAME``; `inputs` are written as ``f32[8,1024]``,
    `options` of torch.compile as ``mode=max-autotune``.

    The same errors as `explain`; BadRequest where something named is not there.
    """
    where, name = load.split(spec)
    specs = [_inputs.parse(text) for text in inputs]
    settings = _inputs.compile_options(options)
    run.require_torch()
    device = run.target_named(target)
    with load.loaded(where) as module:
        found = subject.find(module, where, name, specs, grad=backward)
        return _report(found, device, backward, settings)


def _report(found: subject.Subject, device: Any, backward: bool, options: dict[str, Any]) -> Report:
    calls = tuple(_inputs.describe(call) for call in found.calls())
    outcome = run.run(found, device, backward=backward, **options)
    return report.build(found, outcome, device, backward=backward, calls=calls)
