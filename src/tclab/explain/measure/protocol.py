"""Define the messages between `tclab explain` and the processes that measure; they are pickled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tclab.explain.request import ExplainRequest


@dataclass(frozen=True)
class MeasureRequest:
    """A request to prepare the calls of `request` in the working folder `folder`. The `mode` is
    ``eager``, or the calls are compiled with these `options` of torch.compile.
    """

    folder: str
    request: ExplainRequest
    mode: str
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ProfileRequest:
    """A request to profile a number of passes over the calls; the answer is a PassProfile."""

    passes: int


@dataclass(frozen=True)
class MemoryRequest:
    """A request to measure the memory of one pass over the calls; the answer is a PassMemory. It
    has lines if `by_line`, which is for eager only.
    """

    by_line: bool = False


@dataclass(frozen=True)
class Prepared:
    """The answer that the calls are warm. `first` and `warm` are the seconds of one pass over all
    calls: of the first pass, and of a warm one. `gpu` is the name of the GPU; '' for a CPU.
    `problem` says what went wrong; '' if nothing did.
    """

    first: float = 0.0
    warm: float = 0.0
    gpu: str = ""
    threads: int = 0
    problem: str = ""


@dataclass(frozen=True)
class Round:
    """The seconds of one pass over all calls, as the mean of a round, the share of this time in
    which the host was busy issuing work, and the seconds that its threads waited for a core.
    """

    seconds: float
    host_share: float
    waited: float = 0.0
