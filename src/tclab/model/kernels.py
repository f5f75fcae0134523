"""Define facts about a kernel: its fused nodes, its configuration, its memory traffic and its
resources.

These are values; `tclab.render` puts them into words. `str` of a configuration or an occupancy is
the line that Inductor or Triton prints for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from tclab.model.codec import kind

#: The formats of a product's operands, which decide its rate. CUDA cores compute f32; tensor cores
#: compute tf32 and the formats after it.
RATES = ("f64", "f32", "tf32", "f16", "f8", "i8")

#: The type of a kernel's constant. A constant of another type is stored as its text.
Constant = int | float | bool | str

# --------------------------------------------------------------------------- fusion


@kind("fused-group")
@dataclass(frozen=True)
class FusedGroup:
    """One or more scheduler nodes that Inductor put into one kernel.

    `shared` maps a buffer to the nodes that use it, if several do. `bytes` is Inductor's own count
    of the bytes that all nodes read and write, each buffer once; None if a size is symbolic.
    """

    kind: ClassVar[str]
    ops: tuple[str, ...]
    bytes: int | None = None
    shared: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@kind("not-fused")
@dataclass(frozen=True)
class NotFused:
    """Two scheduler nodes, or two groups of them, that Inductor did not fuse, and its reason."""

    kind: ClassVar[str]
    first: tuple[str, ...]
    second: tuple[str, ...]
    reason: str


#: Kind of a choice that timing decides → its likely answer. None of more than 250 products that
#: were timed on an H200 was faster with padding.
LIKELY: Mapping[str, str] = {"pad": "no"}


@kind("timed-question")
@dataclass(frozen=True)
class TimedQuestion:
    """A choice that Inductor makes by timing on the GPU. `choice` is the kind of the choice,
    `operator` is the operator concerned, and `place` is the user's line. Questions with the same
    `key`, which is Inductor's own key, have the same answer. `doubt` says why timings of this
    choice on such a GPU do not decide it; '' without such timings.
    """

    kind: ClassVar[str]
    choice: str
    operator: str
    place: str
    key: str = ""
    doubt: str = ""

    def __str__(self) -> str:
        return f"{self.choice}: {self.operator}, {self.place}"


@kind("timed-answer")
@dataclass(frozen=True)
class TimedAnswer:
    """An answer to a timed question on which a kernel depends, such as ``pad=yes``."""

    kind: ClassVar[str]
    question: TimedQuestion
    answer: str

    def __str__(self) -> str:
        return f"{self.question.choice}={self.answer}"

    @property
    def is_likely(self) -> bool:
        """Whether this is the answer that the GPU's timing is likely to give."""
        return self.answer == LIKELY[self.question.choice]


def needs_unlikely(answers: Iterable[TimedAnswer]) -> bool:
    """Return whether one of the answers that a kernel depends on is unlikely."""
    return not all(answer.is_likely for answer in answers)


def format_answers(answers: Iterable[TimedAnswer]) -> str:
    """Write the answers that a kernel depends on as text, ``pad=yes``; '' if there are none. If
    several answers differ, each is followed by its operator.
    """
    all_answers = tuple(answers)
    if len({str(answer) for answer in all_answers}) <= 1:
        return str(all_answers[0]) if all_answers else ""
    return ", ".join(
        dict.fromkeys(f"{answer} for {answer.question.operator}" for answer in all_answers)
    )


# --------------------------------------------------------------------------- configuration


@kind("kernel-config")
@dataclass(frozen=True)
class Config:
    """One configuration of a Triton kernel. `constants` such as ``XBLOCK`` are in Triton's
    order.
    """

    kind: ClassVar[str]
    constants: tuple[tuple[str, Constant], ...]
    num_warps: int
    num_stages: int

    @property
    def settings(self) -> dict[str, Constant]:
        """The constants by name, then ``num_warps`` and ``num_stages``."""
        launch = {"num_warps": self.num_warps, "num_stages": self.num_stages}
        return dict(self.constants) | launch

    def __str__(self) -> str:
        return ", ".join(f"{name}={value}" for name, value in self.settings.items())


@kind("configuration")
@dataclass(frozen=True)
class Configuration:
    """The configuration with which a kernel was compiled, chosen among a number of `candidates`. If
    `timed`, the GPU timed all candidates and this configuration was the fastest; else it is the
    first candidate.
    """

    kind: ClassVar[str]
    config: Config
    candidates: int = 1
    timed: bool = False

    def __str__(self) -> str:
        if self.candidates < 2:
            return str(self.config)
        position = f"of {self.candidates} candidates"
        how = (
            f"{position}, as timed" if self.timed else f"first {position}; the GPU would time them"
        )
        return f"{self.config} ({how})"


# --------------------------------------------------------------------------- machine code


@kind("occupancy")
@dataclass(frozen=True)
class Occupancy:
    """The blocks and warps of a kernel that one multiprocessor holds at once.

    `most_warps` is the hardware's maximum. `bounds` names each limit that was reached: ``warps``,
    ``registers``, ``shared memory``, ``blocks``.
    """

    kind: ClassVar[str]
    blocks: int
    warps: int
    most_warps: int
    bounds: tuple[str, ...]

    @property
    def share(self) -> float:
        """The share of the most possible warps, from 0 to 1."""
        return self.warps / self.most_warps

    def __str__(self) -> str:
        limits = " and ".join(self.bounds)
        return f"{self.share:.0%} ({self.warps} of {self.most_warps} warps), bounded by {limits}"


@kind("resources")
@dataclass(frozen=True)
class Resources:
    """The resources that a kernel uses: `registers` per thread, bytes per thread that were
    `spilled` from registers to memory, bytes of `shared` memory per block, bytes of `stack` per
    thread. None means not known.
    """

    kind: ClassVar[str]
    registers: int
    spilled: int
    shared: int | None = None
    stack: int | None = None
    occupancy: Occupancy | None = None


# --------------------------------------------------------------------------- all facts


@kind("kernel-facts")
@dataclass(frozen=True)
class KernelFacts:
    """Everything known about a kernel, apart from its code.

    `written` holds names and values from the metadata in the kernel's source, such as ``num_load``.
    `original_aten` are the operators that Inductor names in the comment above the kernel. `calls`
    counts the calls in the output code; `first_call` is the text of the first one. `instructions`
    counts the machine instructions without padding. `open` holds the timed answers that this kernel
    depends on; it is empty if the GPU runs the kernel in any case. `measured` names the GPU and the
    day of the timing that chose this kernel, or is ''.

    `operations` counts the operations of the products (matrix products, convolutions, attention) in
    all calls, a multiply-add as two; 0 without a product, None if not known. `rate` is the format
    of the products' operands, one of RATES, or ''. `upcast` is the dtype of fewer bits, such as
    ``bf16``, from which all operands of the products were converted, or ''. `bytes` counts the
    bytes that a library call reads and writes, each tensor once; None if not known.
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
    operations: int | None = None
    rate: str = ""
    bytes: int | None = None
    upcast: str = ""

    @property
    def is_alternative(self) -> bool:
        """Whether the GPU runs this kernel only if its timing gives an unlikely answer."""
        return needs_unlikely(self.open)

    @property
    def traffic(self) -> int | None:
        """Bytes that all calls read and write; None if not known."""
        return sum(self.moved) if self.moved else self.bytes

    @property
    def moved(self) -> tuple[int, ...]:
        """Bytes that each fused group reads and writes; groups of unknown size are left out."""
        return tuple(group.bytes for group in self.fused if group.bytes is not None)
