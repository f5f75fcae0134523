"""Runs in the process of the reader's model: reports, compares, times."""

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
from tclab.engine.worker.protocol import JobFile
from tclab.explain import load, subject
from tclab.explain.inputs import Call
from tclab.labs.capstone import findings
from tclab.labs.capstone.findings import ORDER, Timing
from tclab.model import Report

if TYPE_CHECKING:
    from tclab import Capture

_ROUNDS = 15


def run(tree: ast.Module, job: JobFile, main: dict[str, Any]) -> None:
    """Look at the model of the reader's file, and show what was found."""
    order = json.loads(job["source"].rsplit(ORDER, 1)[1])
    name = order["name"]
    os.chdir(os.path.dirname(order["path"]))  # files are named from there, and read from there
    report = explain.explain_named(explain.ExplainRequest.parse(f"{order['path']}:{name}"))
    with load.loaded(order["path"]) as module:
        model = subject.find(module, job["file"], name, (), grad=False)
        with torch.no_grad():
            results = _findings(report, model, dict(getattr(module, "EXPLAINED", {})))
    display.show(findings.findings_table(results[0]))
    display.show(findings.times_table(results[1]))
    display.show(report, name="report")


def _findings(
    report: Report, model: subject.Subject, explained: dict[str, str]
) -> tuple[list[findings.Finding], Timing]:
    calls = list(model.calls())
    timing, second_pass = _timed(model.callable, calls)
    errors = _errors(model.callable, calls)
    return [
        findings.breaks(report, explained),
        findings.recompiles(report, second_pass.graphs, second_pass.recompiles),
        findings.correct(*errors),
        findings.speed(timing),
    ], timing


# --------------------------------------------------------------------------- times


def _timed(fn: Callable[..., Any], calls: list[Call]) -> tuple[Timing, Capture]:
    """Both ways in turns, over all example calls; what the second pass compiled again."""
    import tclab

    torch.compiler.reset()
    compiled = torch.compile(fn)
    first = _seconds(compiled, calls)
    with tclab.capture() as capture:
        _seconds(compiled, calls)
    eager_times, compiled_times = [], []
    _seconds(fn, calls)
    for _ in range(_ROUNDS):
        eager_times.append(_seconds(fn, calls))
        compiled_times.append(_seconds(compiled, calls))
    words = f"{len(calls)} example call{'s' * (len(calls) > 1)}"
    return Timing(_spread(eager_times), _spread(compiled_times), first, words), capture


def _seconds(fn: Callable[..., Any], calls: list[Call]) -> float:
    start = time.perf_counter()
    for call in calls:
        fn(*call.args, **dict(call.kwargs))
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - start


def _spread(seconds: list[float]) -> tuple[float, float, float]:
    low, median, high = statistics.quantiles(seconds, n=4)
    return low, median, high


# --------------------------------------------------------------------------- errors


def _errors(fn: Callable[..., Any], calls: list[Call]) -> tuple[float, float, float]:
    """The largest error of compiled and of eager against float64, and what is allowed."""
    torch.compiler.reset()
    compiled = torch.compile(fn)
    exact = _double(fn)
    worst_compiled = worst_eager = scale = eps = 0.0
    for call in calls:
        eager = _tensors(fn(*call.args, **dict(call.kwargs)))
        ours = _tensors(compiled(*call.args, **dict(call.kwargs)))
        true = _exactly(exact, call) or [t.double() for t in eager]
        for a, b, t in zip(ours, eager, true, strict=True):
            worst_compiled = max(worst_compiled, _distance(a, t))
            worst_eager = max(worst_eager, _distance(b, t))
            scale = max(scale, float(t.abs().max()) if t.numel() else 0.0)
            eps = max(eps, torch.finfo(b.dtype).eps if b.is_floating_point() else 0.0)
    return worst_compiled, worst_eager, max(4 * worst_eager, 64 * eps * scale)


def _distance(a: torch.Tensor, b: torch.Tensor) -> float:
    """The largest absolute difference; infinity for another shape or NaN where there is none."""
    if a.shape != b.shape:
        return float("inf")
    difference = (a.double() - b.double()).abs()
    bad = difference.isnan() & ~b.isnan()
    if bad.any():
        return float("inf")
    return float(difference.nan_to_num(0).max()) if difference.numel() else 0.0


def _tensors(value: object) -> list[torch.Tensor]:
    """The tensors of a result, in order."""
    if isinstance(value, torch.Tensor):
        return [value]
    parts = value.values() if isinstance(value, Mapping) else value
    if not isinstance(parts, Iterable) or isinstance(parts, (str, bytes)):
        return []
    return [tensor for part in parts for tensor in _tensors(part)]


def _double(fn: Callable[..., Any]) -> Callable[..., Any] | None:
    """The model in float64; the function itself; None where it cannot be copied."""
    if not isinstance(fn, torch.nn.Module):
        return fn
    try:
        exact: Callable[..., Any] = copy.deepcopy(fn).double()
    except Exception:  # any model at all: eager's own result is then the reference
        return None
    return exact


def _exactly(exact: Callable[..., Any] | None, call: Call) -> list[torch.Tensor]:
    """The result in float64; none where the model cannot compute in it."""
    if exact is None:
        return []
    try:
        args = [_doubled(value) for value in call.args]
        kwargs = {name: _doubled(value) for name, value in dict(call.kwargs).items()}
        return [tensor.double() for tensor in _tensors(exact(*args, **kwargs))]
    except Exception:  # an operation without float64, say
        return []


def _doubled(value: Any) -> Any:
    floating = isinstance(value, torch.Tensor) and value.is_floating_point()
    return value.double() if floating else value
