"""Define the messages between `tclab explain` and the processes that measure; they are pickled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tclab.explain.request import ExplainRequest


@dataclass(frozen=True)
class MeasureRequest:
    """Prepare the calls of `request` in a working folder: in ``eager``, or compiled with these
    `options` of torch.compile.
    """

    folder: str
    request: ExplainRequest
    mode: str
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Prepared:
    """The calls are warm. `first` and `warm` are seconds of all calls once through: the first time,
    and now. `gpu` is the device's name, '' for a CPU. `problem` says what was raised.
    """

    first: float = 0.0
    warm: float = 0.0
    gpu: str = ""
    threads: int = 0
    peak: int | None = None
    problem: str = ""


@dataclass(frozen=True)
class Round:
    """The seconds of all calls once through, as a mean over a round, and the share of them in which
    the host was busy with issuing the work.
    """

    seconds: float
    host_share: float
