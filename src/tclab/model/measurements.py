"""Define the measured times of a function, compiled and in eager."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tclab.model.artifacts import SourceLine
from tclab.model.codec import kind

#: Eager PyTorch, and modes of torch.compile.
EAGER, DEFAULT, GRAPHS = "eager", "default", "reduce-overhead"
#: The verdicts of a measurement on a mode, compared with eager.
FASTER, SLOWER, SAME, UNSTEADY = "faster", "slower", "as fast", "unsteady"
#: A ratio must differ from 1 by more than this to count as faster or slower: two processes that run
#: the same code differed by up to 0.04 in all rounds but one (`benchmarks.verdicts`, under load).
_LEAST_GAIN = 0.05
#: Ratios in this range count as equally fast.
_SAME_RANGE = 0.1
#: With fewer rounds than this, there is no verdict.
_FEWEST_ROUNDS = 5
_BUSY = 0.6  # a GPU that works in less than this share of a call waits for the host
_STEADY = 1.25  # a call is warm if it takes at most this multiple of the shortest call


def is_steady(times: Sequence[float]) -> bool:
    """Return whether the last three calls were about as fast as the fastest of all."""
    return max(times[-3:]) <= _STEADY * min(times)


@kind("pass-memory")
@dataclass(frozen=True)
class PassMemory:
    """The memory of one call in one mode, in bytes: the most that it holds beyond what was there
    before the call, the part of it that the forward keeps for the backward (None without a
    backward), and what CUDA graphs keep between the calls. Of several calls it is the most. In
    eager, `lines` are the lines whose tensors hold the most of `peak`, with their bytes.
    """

    kind: ClassVar[str]
    peak: int
    saved: int | None = None
    kept: int = 0
    lines: tuple[tuple[SourceLine, int], ...] = ()


@kind("mode-times")
@dataclass(frozen=True)
class ModeTimes:
    """The times of the calls in one mode of torch.compile, or in ``eager``.

    `rounds` are the seconds of one pass over all calls of the request, round by round. The modes
    took turns, so that one round of each mode was measured at about the same time. `first` is the
    seconds of the first pass, with the compiles and without any cache of kernels. `host_share` is
    the share of the time in which the host issued work for the GPU; None on a CPU. `memory` is
    None if it was not measured. `problem` says why nothing was measured. `waited` are the seconds
    of each round that threads waited for a core, summed over the threads; empty if not known.
    """

    kind: ClassVar[str]
    mode: str
    rounds: tuple[float, ...] = ()
    first: float = 0.0
    host_share: float | None = None
    memory: PassMemory | None = None
    problem: str = ""
    waited: tuple[float, ...] = ()

    @property
    def undisturbed(self) -> tuple[float, ...]:
        """The least that the rounds would have taken if no thread had waited for a core."""
        if not self.waited:
            return self.rounds
        return tuple(max(s - w, 0.01 * s) for s, w in zip(self.rounds, self.waited))

    @property
    def waited_share(self) -> float:
        """The share of the rounds in which threads waited for a core, 1 at most; 0 if it is not
        known.
        """
        return min(1.0, sum(self.waited) / sum(self.rounds)) if self.waited else 0.0

    @property
    def median(self) -> float:
        """The median of the rounds in seconds."""
        from statistics import median  # it is slow to import, and reading a job needs none

        return median(self.rounds)


@kind("graph-run")
@dataclass(frozen=True)
class GraphRun:
    """One run of a compiled graph, as the profiler saw it: the name and the seconds of each kernel
    and operator that the graph called. On a GPU these are seconds of the GPU.
    """

    kind: ClassVar[str]
    launches: tuple[tuple[str, float], ...] = ()


@kind("pass-profile")
@dataclass(frozen=True)
class PassProfile:
    """One pass over the calls as the profiler saw it: the runs of compiled graphs, and the seconds
    of all work on the GPU, also of work outside of compiled graphs; None on a CPU.
    """

    kind: ClassVar[str]
    graphs: tuple[GraphRun, ...] = ()
    busy: float | None = None


@kind("measurement")
@dataclass(frozen=True)
class Measurement:
    """The times of a request's calls in each mode, ``eager`` first, on a device and with a number
    of CPU `threads`. `problem` says why there is nothing to compare. `profile` is one pass in the
    first mode of torch.compile; None if it could not be profiled. With `timed_out` the time was up
    before everything was measured.
    """

    kind: ClassVar[str]
    device: str = ""
    threads: int = 0
    modes: tuple[ModeTimes, ...] = ()
    problem: str = ""
    profile: PassProfile | None = None
    timed_out: bool = False

    @property
    def busy_share(self) -> float | None:
        """The share of a call in which the GPU works, in the first mode of torch.compile; None if
        it is not known.
        """
        busy = self.profile.busy if self.profile else None
        return busy / self.compiled[0].median if busy is not None and self.compiled else None

    @property
    def waits_for_host(self) -> bool:
        """Whether the GPU waits for launches for a large part of a call."""
        return self.busy_share is not None and self.busy_share < _BUSY

    @property
    def eager(self) -> ModeTimes | None:
        """The times in eager, None if they were not measured."""
        return next((m for m in self.modes if m.mode == EAGER and m.rounds), None)

    @property
    def compiled(self) -> tuple[ModeTimes, ...]:
        """The modes of torch.compile that were measured."""
        return tuple(m for m in self.modes if m.mode != EAGER and m.rounds)

    def speedups(self, mode: ModeTimes) -> tuple[float, float, float]:
        """Return how many times as fast as eager a mode is, as three numbers: the least over the
        rounds without the lowest round, the median, and the most over the rounds without the
        highest round.
        """
        assert self.eager is not None
        ratios = _divide(self.eager.rounds, mode.rounds)
        from statistics import median

        return ratios[1], median(ratios), ratios[-2]

    def verdict(self, mode: ModeTimes) -> str:
        """Return FASTER or SLOWER if all rounds but one agree, SAME if they are close to eager's,
        else UNSTEADY. They have to agree however much of the waits for a core held up one mode and
        not the other.
        """
        if self.eager is None or len(mode.rounds) < _FEWEST_ROUNDS:
            return UNSTEADY
        least = _divide(self.eager.undisturbed, mode.rounds)[1]
        most = _divide(self.eager.rounds, mode.undisturbed)[-2]
        return _judge(least, most)

    def break_even(self, mode: ModeTimes) -> int | None:
        """Return the number of passes over the calls after which the compile has paid for itself;
        None if it never does.
        """
        assert self.eager is not None
        gain = self.eager.median - mode.median
        if self.verdict(mode) != FASTER or gain <= 0:
            return None
        return math.ceil(max(0.0, mode.first - self.eager.first) / gain)


def _divide(eager: Sequence[float], compiled: Sequence[float]) -> list[float]:
    """Return eager's seconds over those compiled, round by round, the least first."""
    return sorted(e / c for e, c in zip(eager, compiled))


def _judge(low: float, high: float) -> str:
    if low > 1 + _LEAST_GAIN:
        return FASTER
    if high < 1 / (1 + _LEAST_GAIN):
        return SLOWER
    return SAME if low > 1 - _SAME_RANGE and high < 1 + _SAME_RANGE else UNSTEADY
