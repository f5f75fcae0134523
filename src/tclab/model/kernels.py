"""What is known of a kernel: why it is one, how it was configured, what it moves and takes.

Values; `tclab.render` has the words for them. What Inductor or Triton prints in a line of its own
(a configuration, an occupancy) has that line as its text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from tclab.model.codec import kind

#: What a constant of a kernel can be; anything else is kept as its text.
Constant = int | float | bool | str

# --------------------------------------------------------------------------- why it is one


@kind("fused-group")
@dataclass(frozen=True)
class FusedGroup:
    """Scheduler nodes that were fused, one or more.

    `shared` maps each buffer that two of them read or write to these nodes. `bytes` are what they
    read and write in memory together, each buffer once, by Inductor's own count; None where a
    size has no value yet.
    """

    kind: ClassVar[str]
    ops: tuple[str, ...]
    bytes: int | None = None
    shared: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@kind("not-fused")
@dataclass(frozen=True)
class NotFused:
    """Two scheduler nodes, or groups of them, that were not fused, and Inductor's reason."""

    kind: ClassVar[str]
    first: tuple[str, ...]
    second: tuple[str, ...]
    reason: str


@kind("timed-question")
@dataclass(frozen=True)
class TimedQuestion:
    """What only the GPU could answer, by timing: which `choice` it is, for which operator, at which
    place in the user's code. Those of one `key`, Inductor's own, have one answer.
    """

    kind: ClassVar[str]
    choice: str
    operator: str
    place: str
    key: str = ""

    def __str__(self) -> str:
        return f"{self.choice}: {self.operator}, {self.place}"


@kind("timed-answer")
@dataclass(frozen=True)
class TimedAnswer:
    """The answer to a question that a kernel belongs to: ``pad=yes``."""

    kind: ClassVar[str]
    question: TimedQuestion
    answer: str

    def __str__(self) -> str:
        return f"{self.question.choice}={self.answer}"


def given(answers: Iterable[TimedAnswer]) -> str:
    """``pad=yes``: with which answers the GPU gets an open kernel; '' for one that it gets anyway.
    Where the answers to several questions decide and differ, each is named with its operator.
    """
    every = tuple(answers)
    if len({str(answer) for answer in every}) <= 1:
        return str(every[0]) if every else ""
    return ", ".join(dict.fromkeys(f"{each} for {each.question.operator}" for each in every))


# --------------------------------------------------------------------------- configuration


@kind("kernel-config")
@dataclass(frozen=True)
class Config:
    """A configuration of a Triton kernel: its constants, such as ``XBLOCK``, in Triton's order."""

    kind: ClassVar[str]
    constants: tuple[tuple[str, Constant], ...]
    num_warps: int
    num_stages: int

    @property
    def settings(self) -> dict[str, Constant]:
        """Everything by name, ``num_warps`` and ``num_stages`` last."""
        launched = {"num_warps": self.num_warps, "num_stages": self.num_stages}
        return dict(self.constants) | launched

    def __str__(self) -> str:
        return ", ".join(f"{name}={value}" for name, value in self.settings.items())


@kind("configuration")
@dataclass(frozen=True)
class Configuration:
    """The configuration a kernel was compiled with, of so many `candidates`: the one that the GPU
    took when it `timed` them, or the first.
    """

    kind: ClassVar[str]
    config: Config
    candidates: int = 1
    timed: bool = False

    def __str__(self) -> str:
        if self.candidates < 2:
            return str(self.config)
        several = f"of {self.candidates} candidates"
        how = f"{several}, as timed" if self.timed else f"first {several}; the GPU would time them"
        return f"{self.config} ({how})"


# --------------------------------------------------------------------------- machine code


@kind("occupancy")
@dataclass(frozen=True)
class Occupancy:
    """`blocks` and `warps` are what a multiprocessor holds at once, `most_warps` what it can hold.

    `bounds` names every limit that is met: ``warps``, ``registers``, ``shared memory``, ``blocks``.
    """

    kind: ClassVar[str]
    blocks: int
    warps: int
    most_warps: int
    bounds: tuple[str, ...]

    @property
    def share(self) -> float:
        """Of the warps there is room for, from 0 to 1."""
        return self.warps / self.most_warps

    def __str__(self) -> str:
        bounded = " and ".join(self.bounds)
        return f"{self.share:.0%} ({self.warps} of {self.most_warps} warps), bounded by {bounded}"


@kind("resources")
@dataclass(frozen=True)
class Resources:
    """What a kernel takes of a multiprocessor: `registers` of a thread, and the bytes of them that
    went to memory (`spilled`); bytes of `shared` memory of a block; bytes of a thread's `stack`.
    None where it is not known.
    """

    kind: ClassVar[str]
    registers: int
    spilled: int
    shared: int | None = None
    stack: int | None = None
    occupancy: Occupancy | None = None


# --------------------------------------------------------------------------- together


@kind("kernel-facts")
@dataclass(frozen=True)
class KernelFacts:
    """All that is known of a kernel beside its code.

    `written` is what the kernel's source says of itself, such as ``num_load``: names and values as
    they stand there. `original_aten` are the operators that Inductor wrote above it, `calls` how
    often the output code calls it, `first_call` the text of the first call. `instructions` are
    those of the machine code, without padding. `open` is not empty for a kernel that the GPU
    may not choose; `measured` says where and when it was measured that it chooses this one.
    """

    kind: ClassVar[str]
    fused: tuple[FusedGroup, ...] = ()
    not_fused: tuple[NotFused, ...] = ()
    configuration: Configuration | None = None
    resources: Resources | None = None
    instructions: int | None = None
    written: Mapping[str, str] = field(default_factory=dict)
    original_aten: tuple[str, ...] = ()
    calls: int = 0
    first_call: str = ""
    open: tuple[TimedAnswer, ...] = ()
    measured: str = ""

    @property
    def moved(self) -> tuple[int, ...]:
        """Bytes that each fused group reads and writes, of those whose bytes are known."""
        return tuple(group.bytes for group in self.fused if group.bytes is not None)
