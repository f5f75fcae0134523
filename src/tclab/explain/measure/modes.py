"""Time modes of torch.compile and eager in turns, whatever answers for each of them."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from tclab.explain.measure.protocol import MemoryRequest, Prepared, ProfileRequest, Round
from tclab.explain.steps import OnStep, Step
from tclab.model import (
    DEFAULT,
    EAGER,
    GRAPHS,
    Measurement,
    ModeTimes,
    PassMemory,
    PassProfile,
)


class Answering(Protocol):
    """What answers the messages of `protocol`, such as a ChildProcess."""

    def ask(self, question: object, seconds: float) -> object:
        """Return the answer to a question; None if none comes within `seconds`."""


_ROUNDS = 11
#: The seconds of one mode's turn in a round. A turn has at least one pass over the calls.
_TURN_SECONDS = 0.1
#: The fewest and the most passes that are profiled. A profile of more passes would be too large,
#: because it has an event for each operator of each pass.
_PROFILED_PASSES = (5, 200)
#: The most seconds of one turn.
_ANSWER_SECONDS = 120.0
#: The rounds end after this many seconds.
_ROUNDS_SECONDS = 60.0


@dataclass
class MeasuredMode:
    """A mode with what answers for it, its answer that it is prepared, and its rounds. No answer
    comes after `end`, a time of ``time.monotonic``.
    """

    mode: str
    process: Answering
    prepared: Prepared
    end: float
    rounds: list[Round] = field(default_factory=list)
    memory: PassMemory | None = None

    def _ask(self, question: object) -> object:
        left = self.end - time.monotonic()
        return self.process.ask(question, min(_ANSWER_SECONDS, left)) if left > 0 else None

    def time(self) -> bool:
        """Measure one round of this mode; return whether the process answered."""
        answer = self._ask(self._count_passes(1, 10_000))
        if isinstance(answer, Round):
            self.rounds.append(answer)
        return isinstance(answer, Round)

    def _count_passes(self, fewest: int, most: int) -> int:
        """Return the number of passes that take the seconds of one turn."""
        return max(fewest, min(most, round(_TURN_SECONDS / max(self.prepared.warm, 1e-7))))

    def profile(self) -> PassProfile | None:
        """Return the profile of one pass; None if the process does not answer."""
        answer = self._ask(ProfileRequest(self._count_passes(*_PROFILED_PASSES)))
        return answer if isinstance(answer, PassProfile) else None

    def measure_memory(self) -> None:
        """Measure the memory of one pass; `memory` stays None if the process does not answer."""
        answer = self._ask(MemoryRequest(by_line=self.mode == EAGER))
        self.memory = answer if isinstance(answer, PassMemory) else None

    def times(self) -> ModeTimes:
        """Return what was measured."""
        on_gpu = bool(self.prepared.gpu and self.rounds)
        share = statistics.median(r.host_share for r in self.rounds) if on_gpu else None
        return ModeTimes(
            self.mode,
            tuple(each.seconds for each in self.rounds),
            self.prepared.first,
            share,
            self.memory,
            self.prepared.problem,
            tuple(each.waited for each in self.rounds),
        )


def measure_modes(
    modes: Sequence[MeasuredMode],
    on_step: OnStep,
    profile: Callable[[MeasuredMode], PassProfile | None],
) -> Measurement:
    """Return the times and the memory of modes that are prepared, eager first, and the `profile` of
    the first compiled one.
    """
    failed = next((f"{m.mode}: {m.prepared.problem}" for m in modes if m.prepared.problem), "")
    running = [mode for mode in modes if not mode.prepared.problem]
    if EAGER not in [mode.mode for mode in running] or len(running) < 2:
        return Measurement(problem=failed, modes=tuple(mode.times() for mode in modes))
    on_step(Step("measuring: rounds in turns"))
    _time_rounds(running)
    on_step(Step("measuring: memory"))
    for mode in running:
        mode.measure_memory()
    on_step(Step("measuring: kernels"))
    prepared = running[0].prepared
    profiled = profile(running[1])
    return Measurement(
        prepared.gpu or "CPU",
        prepared.threads,
        tuple(mode.times() for mode in modes),
        profile=profiled,
        timed_out=time.monotonic() > running[0].end,
    )


def list_modes(options: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield each mode, with what it gives to torch.compile if the user gives it `options`."""
    given = dict(options)
    yield EAGER, {}
    yield str(given.get("mode") or DEFAULT), given
    if not given.get("mode") and "options" not in given:  # torch.compile takes one of the two
        yield GRAPHS, {**given, "mode": GRAPHS}


def _time_rounds(modes: Sequence[MeasuredMode]) -> None:
    """Let the modes take turns. Each round begins with the next mode. If a mode fails in a round,
    this round counts for no mode.
    """
    end = min(time.monotonic() + _ROUNDS_SECONDS, modes[0].end)
    for number in range(_ROUNDS):
        turn = number % len(modes)
        if not all(mode.time() for mode in [*modes[turn:], *modes[:turn]]):
            break
        if time.monotonic() > end:
            break
    complete = min(len(mode.rounds) for mode in modes)
    for mode in modes:
        del mode.rounds[complete:]
