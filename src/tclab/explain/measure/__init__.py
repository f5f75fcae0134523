"""Measure the reader's calls in eager and compiled. Each mode has a process of its own.

The processes are prepared one after the other, each with an empty cache of kernels. Then they take
turns, so that other work on the machine slows all of them alike.
"""

from __future__ import annotations

import contextlib
import os
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from tclab.explain.child_process import ChildProcess
from tclab.explain.measure.protocol import MeasureRequest, Prepared, ProfileRequest, Round
from tclab.explain.steps import OnStep, Step
from tclab.model import DEFAULT, EAGER, GRAPHS, Measurement, ModeTimes, PassProfile

if TYPE_CHECKING:
    from tclab.explain.request import ExplainRequest

_ROUNDS = 11
#: The seconds of one mode's turn in a round. A turn has at least one pass over the calls.
_TURN_SECONDS = 0.1
#: The fewest and the most passes that are profiled. A profile of more passes would be too large,
#: because it has an event for each operator of each pass.
_PROFILED_PASSES = (5, 200)
#: The seconds that one mode may take until it is compiled and warm, and those for one turn.
_PREPARE_SECONDS, _ANSWER_SECONDS = 300.0, 120.0
#: The rounds end after this many seconds.
SECONDS = 60.0


@dataclass
class _MeasuredMode:
    """A mode with its process, its answer that it is prepared, and its rounds."""

    mode: str
    process: ChildProcess
    prepared: Prepared
    rounds: list[Round] = field(default_factory=list)

    def time(self) -> bool:
        """Measure one round of this mode; return whether the process answered."""
        answer = self.process.ask(self._count_passes(1, 10_000), _ANSWER_SECONDS)
        if isinstance(answer, Round):
            self.rounds.append(answer)
        return isinstance(answer, Round)

    def _count_passes(self, fewest: int, most: int) -> int:
        """Return the number of passes that take the seconds of one turn."""
        return max(fewest, min(most, round(_TURN_SECONDS / max(self.prepared.warm, 1e-7))))

    def profile(self) -> PassProfile | None:
        """Return the profile of one pass; None if the process does not answer."""
        request = ProfileRequest(self._count_passes(*_PROFILED_PASSES))
        answer = self.process.ask(request, _ANSWER_SECONDS)
        return answer if isinstance(answer, PassProfile) else None

    def times(self) -> ModeTimes:
        """Return what was measured."""
        on_gpu = bool(self.prepared.gpu and self.rounds)
        share = statistics.median(r.host_share for r in self.rounds) if on_gpu else None
        return ModeTimes(
            self.mode,
            tuple(each.seconds for each in self.rounds),
            self.prepared.first,
            share,
            self.prepared.peak,
            self.prepared.problem,
        )


def measure(request: ExplainRequest, on_step: OnStep) -> Measurement:
    """Return the times of the request's calls, in eager and compiled. On a GPU, also time the calls
    compiled with CUDA graphs, unless the request names a mode.
    """
    with contextlib.ExitStack() as stack:
        modes: list[_MeasuredMode] = []
        for mode, options in _list_modes(request):
            if mode == GRAPHS and not (modes and modes[0].prepared.gpu):
                continue
            on_step(Step(f"measuring: preparing {mode}"))
            modes.append(stack.enter_context(_prepare_mode(request, mode, options)))
        failed = next((f"{m.mode}: {m.prepared.problem}" for m in modes if m.prepared.problem), "")
        running = [mode for mode in modes if not mode.prepared.problem]
        if EAGER not in [mode.mode for mode in running] or len(running) < 2:
            return Measurement(problem=failed, modes=tuple(mode.times() for mode in modes))
        on_step(Step("measuring: rounds in turns"))
        _time_rounds(running)
        on_step(Step("measuring: kernels"))
        prepared = running[0].prepared
        return Measurement(
            prepared.gpu or "CPU",
            prepared.threads,
            tuple(mode.times() for mode in modes),
            profile=_profile(request, running[1]),
        )


def _profile(request: ExplainRequest, measured: _MeasuredMode) -> PassProfile | None:
    """Return the profile of one pass in a mode; None if the process fails. For a CPU the calls are
    compiled again, since the profiler sees C++ kernels only with this setting.
    """
    if measured.prepared.gpu:
        return measured.profile()
    options = dict(_list_modes(request))[measured.mode]
    setting = {"TORCHINDUCTOR_CPP_ENABLE_KERNEL_PROFILE": "1"}
    with _prepare_mode(request, measured.mode, options, setting) as profiled:
        return None if profiled.prepared.problem else profiled.profile()


def _list_modes(request: ExplainRequest) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield each mode, with the options that it gives to torch.compile."""
    given = dict(request.options)
    yield EAGER, {}
    yield str(given.get("mode") or DEFAULT), given
    if not given.get("mode") and "options" not in given:  # torch.compile takes one of the two
        yield GRAPHS, {**given, "mode": GRAPHS}


@contextlib.contextmanager
def _prepare_mode(
    request: ExplainRequest,
    mode: str,
    options: Mapping[str, Any],
    settings: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[_MeasuredMode]:
    """Yield a mode that is compiled and warm, or that says what went wrong. `settings` are set in
    the environment of its process, which ends after the block.
    """
    with tempfile.TemporaryDirectory(prefix="tclab-measure-", ignore_cleanup_errors=True) as cache:
        environment = {**settings, "TORCHINDUCTOR_CACHE_DIR": cache}
        process = ChildProcess("tclab.explain.measure.child", environment)
        try:
            wanted = MeasureRequest(os.getcwd(), request, mode, options)
            answer = process.ask(wanted, _PREPARE_SECONDS)
            if not isinstance(answer, Prepared):
                late = f"the process ended, or it was not ready after {_PREPARE_SECONDS:.0f} s"
                answer = Prepared(problem=late)
            yield _MeasuredMode(mode, process, answer)
        finally:
            process.end()


def _time_rounds(modes: Sequence[_MeasuredMode]) -> None:
    """Let the modes take turns. Each round begins with the next mode. If a mode fails in a round,
    this round counts for no mode.
    """
    end = time.monotonic() + SECONDS
    for number in range(_ROUNDS):
        turn = number % len(modes)
        if not all(mode.time() for mode in [*modes[turn:], *modes[:turn]]):
            break
        if time.monotonic() > end:
            break
    complete = min(len(mode.rounds) for mode in modes)
    for mode in modes:
        del mode.rounds[complete:]
