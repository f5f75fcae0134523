"""Measure the reader's calls in eager and compiled. Each mode has a process of its own.

The processes are prepared one after the other, each with a cache that has no kernels. Then they
take turns, so that other work on the machine slows all of them alike.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from tclab.explain.child_process import ChildProcess
from tclab.explain.measure.modes import MeasuredMode, list_modes, measure_modes
from tclab.explain.measure.protocol import MeasureRequest, Prepared
from tclab.explain.steps import OnStep, Step
from tclab.model import GRAPHS, Measurement, PassProfile
from tclab.system import inductor_cache

if TYPE_CHECKING:
    from tclab.explain.request import ExplainRequest

#: The most seconds that one mode takes until it is compiled and warm.
_PREPARE_SECONDS = 300.0


def measure(request: ExplainRequest, on_step: OnStep) -> Measurement:
    """Return the times of the request's calls, in eager and compiled. On a GPU, also time the calls
    compiled with CUDA graphs, unless the request names a mode. This takes at most
    `request.measure_seconds`; what does not fit is left out, and the measurement says so.
    """
    with preparing(request, on_step) as modes:
        return measure_modes(modes, on_step, lambda mode: _profile(request, mode))


@contextlib.contextmanager
def preparing(request: ExplainRequest, on_step: OnStep) -> Iterator[list[MeasuredMode]]:
    """Yield eager and the modes of torch.compile to measure, each of them compiled and warm, or
    with what went wrong.
    """
    end = time.monotonic() + request.measure_seconds
    with contextlib.ExitStack() as stack:
        modes: list[MeasuredMode] = []
        for mode, options in list_modes(request.options):
            if mode == GRAPHS and not (modes and modes[0].prepared.gpu):
                continue
            on_step(Step(f"measuring: preparing {mode}"))
            modes.append(stack.enter_context(_prepare_mode(request, mode, options, end)))
        yield modes


def _profile(request: ExplainRequest, measured: MeasuredMode) -> PassProfile | None:
    """Return the profile of one pass in a mode; None if the process fails. For a CPU the calls are
    compiled again, since the profiler sees C++ kernels only with this setting.
    """
    if measured.prepared.gpu:
        return measured.profile()
    options = dict(list_modes(request.options))[measured.mode]
    setting = {"TORCHINDUCTOR_CPP_ENABLE_KERNEL_PROFILE": "1"}
    with _prepare_mode(request, measured.mode, options, measured.end, setting) as profiled:
        return None if profiled.prepared.problem else profiled.profile()


@contextlib.contextmanager
def _prepare_mode(
    request: ExplainRequest,
    mode: str,
    options: Mapping[str, Any],
    end: float,
    settings: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[MeasuredMode]:
    """Yield a mode that is compiled and warm, or that says what went wrong. `settings` are set in
    the environment of its process, which ends after the block.
    """
    with tempfile.TemporaryDirectory(prefix="tclab-measure-", ignore_cleanup_errors=True) as cache:
        environment = {**settings, inductor_cache.VARIABLE: cache}
        inductor_cache.copy_cpu_trials(cache)
        process = ChildProcess("tclab.explain.measure.child", environment)
        try:
            wanted = MeasureRequest(os.getcwd(), request, mode, options)
            seconds = max(0.01, min(_PREPARE_SECONDS, end - time.monotonic()))
            answer = process.ask(wanted, seconds)
            if not isinstance(answer, Prepared):
                late = f"the process ended, or it was not ready after {seconds:.0f} s"
                answer = Prepared(problem=late)
            yield MeasuredMode(mode, process, answer, end)
        finally:
            process.end()
