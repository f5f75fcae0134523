"""Report on, compare and time a reader's model, in the process of its file."""

from __future__ import annotations

import ast
import copy
import json
import os
import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import torch

from tclab import display, explain
from tclab.explain import load, subject
from tclab.explain.inputs import Call
from tclab.model import Report
from tclab.site.engine.worker.protocol import JobFile
from tclab.site.labs.capstone import findings
from tclab.site.labs.capstone.findings import REQUEST_MARK, Timing

if TYPE_CHECKING:
    from tclab import Capture

_ROUNDS = 15


def run(tree: ast.Module, job: JobFile, main: dict[str, Any]) -> None:
    """Examine the model of the reader's file, and show the findings, the times and the report."""
    request = json.loads(job["source"].rsplit(REQUEST_MARK, 1)[1])
    path, name = request["path"], request["name"]
    os.chdir(os.path.dirname(path))  # the model may read files in its own folder
    report = explain.explain_named(explain.ExplainRequest.parse(f"{request['path']}:{name}"))
    with load.import_module(path) as module:
        model = subject.find(module, job["file"], name, (), grad=False)
        with torch.no_grad():
            results = _make_findings(report, model, dict(getattr(module, "EXPLAINED", {})))
    display.show(findings.findings_table(results[0]))
    display.show(findings.times_table(results[1]))
    display.show(report, name="report")


def _make_findings(
    report: Report, model: subject.Subject, explained: dict[str, str]
) -> tuple[list[findings.Finding], Timing]:
    calls = list(model.calls())
    timing, second_pass = _measure_times(model.callable, calls)
    errors = _largest_errors(model.callable, calls)
    return [
        findings.judge_breaks(report, explained),
        findings.judge_recompiles(report, second_pass.graphs, second_pass.recompiles),
        findings.judge_results(*errors),
        findings.judge_speed(timing),
    ], timing


# --------------------------------------------------------------------------- times


def _measure_times(fn: Callable[..., Any], calls: list[Call]) -> tuple[Timing, Capture]:
    """Time eager and compiled calls in turns, and capture a second pass of the compiled calls."""
    import tclab

    torch.compiler.reset()
    compiled = torch.compile(fn)
    first = _time_calls(compiled, calls)
    with tclab.capture() as capture:
        _time_calls(compiled, calls)
    eager_times, compiled_times = [], []
    _time_calls(fn, calls)
    for _ in range(_ROUNDS):
        eager_times.append(_time_calls(fn, calls))
        compiled_times.append(_time_calls(compiled, calls))
    words = f"{len(calls)} example call{'s' * (len(calls) > 1)}"
    return Timing(
        _measure_spread(eager_times), _measure_spread(compiled_times), first, words
    ), capture


def _time_calls(fn: Callable[..., Any], calls: list[Call]) -> float:
    start = time.perf_counter()
    for call in calls:
        fn(*call.args, **dict(call.kwargs))
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - start


def _measure_spread(seconds: list[float]) -> tuple[float, float, float]:
    low, median, high = statistics.quantiles(seconds, n=4)
    return low, median, high


# --------------------------------------------------------------------------- errors


def _largest_errors(fn: Callable[..., Any], calls: list[Call]) -> tuple[float, float, float]:
    """Return the largest errors of compiled and eager against float64, and the allowed error."""
    torch.compiler.reset()
    compiled = torch.compile(fn)
    exact = _copy_in_float64(fn)
    worst_compiled = worst_eager = scale = eps = 0.0
    for call in calls:
        eager = _collect_tensors(fn(*call.args, **dict(call.kwargs)))
        ours = _collect_tensors(compiled(*call.args, **dict(call.kwargs)))
        true = _float64_results(exact, call) or [t.double() for t in eager]
        for a, b, t in zip(ours, eager, true, strict=True):
            worst_compiled = max(worst_compiled, _measure_distance(a, t))
            worst_eager = max(worst_eager, _measure_distance(b, t))
            scale = max(scale, float(t.abs().max()) if t.numel() else 0.0)
            eps = max(eps, torch.finfo(b.dtype).eps if b.is_floating_point() else 0.0)
    return worst_compiled, worst_eager, max(4 * worst_eager, 64 * eps * scale)


def _measure_distance(a: torch.Tensor, b: torch.Tensor) -> float:
    """Return the largest absolute difference of two tensors; infinity if their shapes differ, or if
    only `a` has a NaN.
    """
    if a.shape != b.shape:
        return float("inf")
    difference = (a.double() - b.double()).abs()
    bad = difference.isnan() & ~b.isnan()
    if bad.any():
        return float("inf")
    return float(difference.nan_to_num(0).max()) if difference.numel() else 0.0


def _collect_tensors(value: object) -> list[torch.Tensor]:
    """Return the tensors of a result in order, including nested ones."""
    if isinstance(value, torch.Tensor):
        return [value]
    parts = value.values() if isinstance(value, Mapping) else value
    if not isinstance(parts, Iterable) or isinstance(parts, (str, bytes)):
        return []
    return [tensor for part in parts for tensor in _collect_tensors(part)]


def _copy_in_float64(fn: Callable[..., Any]) -> Callable[..., Any] | None:
    """Return a copy of a module in float64, or None if it cannot be copied. Return a plain function
    unchanged.
    """
    if not isinstance(fn, torch.nn.Module):
        return fn
    try:
        exact: Callable[..., Any] = copy.deepcopy(fn).double()
    except Exception:  # a model may raise any error; then eager's result is the reference
        return None
    return exact


def _float64_results(exact: Callable[..., Any] | None, call: Call) -> list[torch.Tensor]:
    """Return the tensors computed in float64; an empty list if the model cannot compute in
    float64.
    """
    if exact is None:
        return []
    try:
        args = [_to_float64(value) for value in call.args]
        kwargs = {name: _to_float64(value) for name, value in dict(call.kwargs).items()}
        return [tensor.double() for tensor in _collect_tensors(exact(*args, **kwargs))]
    except Exception:  # for example, an operation without a float64 version
        return []


def _to_float64(value: Any) -> Any:
    floating = isinstance(value, torch.Tensor) and value.is_floating_point()
    return value.double() if floating else value
