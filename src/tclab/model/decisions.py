"""Define single decisions as artifacts: cache lookups, the partition of values, memory,
instructions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from tclab.model.artifacts import Artifact, SourceLine
from tclab.model.codec import kind

# --------------------------------------------------------------------------- the cache


@kind("attempt")
@dataclass(frozen=True)
class Attempt:
    """The check of one cache entry for a call. `failed` is the first guard that failed, or ''."""

    kind: ClassVar[str]
    entry: str  # e.g. 0/1: frame 0, its second compile
    failed: str = ""


@kind("cached-call")
@dataclass(frozen=True)
class CachedCall:
    """One call: the cache entries whose guards it tried, in order, and the name of the new entry
    that it `made`, or ''.

    If no entry matched and no entry was made, the call ran without compiled code.
    """

    kind: ClassVar[str]
    call: str  # the arguments as shortened text
    attempts: tuple[Attempt, ...] = ()
    made: str = ""

    @property
    def hit(self) -> str:
        """The entry whose guards all passed, or ''."""
        return next((attempt.entry for attempt in self.attempts if not attempt.failed), "")


@kind("replay")
@dataclass(frozen=True)
class Replay(Artifact):
    """A sequence of calls of one function, each with its cache lookup."""

    calls: tuple[CachedCall, ...] = ()

    def __iter__(self) -> Iterator[CachedCall]:
        return iter(self.calls)


# --------------------------------------------------------------------------- the partition

#: The possible fates of a value of the forward. It is an input, which exists in any case; it is
#: saved for the backward; the backward recomputes it; or the backward does not read it.
FATES = ("input", "saved", "recomputed", "forward only")


@kind("parted-value")
@dataclass(frozen=True)
class PartitionedValue:
    """One value of the forward. `storage` is the number of its storage, and `bytes` is the size of
    this storage.

    `banned` says why the value may not be recomputed, or is ''.
    """

    kind: ClassVar[str]
    name: str
    target: str
    fate: str  # one of FATES
    bytes: int = 0
    storage: int = 0
    banned: str = ""
    shape: tuple[str, ...] | None = None
    dtype: str = ""
    location: SourceLine | None = None


@kind("partition")
@dataclass(frozen=True)
class Partition(Artifact):
    """The partitioner's decision on each value of a forward that has a backward."""

    values: tuple[PartitionedValue, ...] = ()
    compile_id: str = ""

    def bytes_of(self, fate: str) -> int:
        """Return the bytes of all storages with this fate, each counted once. A storage whose
        values have several fates counts for the first of them in FATES. So a view of an input costs
        nothing, and neither does a recomputed view of a saved value.
        """
        owners: dict[int, PartitionedValue] = {}
        for value in sorted(self.values, key=lambda value: FATES.index(value.fate)):
            owners.setdefault(value.storage, value)
        return sum(value.bytes for value in owners.values() if value.fate == fate)


# --------------------------------------------------------------------------- memory


@kind("moment")
@dataclass(frozen=True)
class Moment:
    """The state after one allocation or release. `bytes` is the memory held, counted from 0 at the
    beginning of the run. `during` is the operation that was running.
    """

    kind: ClassVar[str]
    bytes: int
    during: str = ""


@kind("memory-phase")
@dataclass(frozen=True)
class MemoryPhase:
    """One phase of a run, such as the forward."""

    kind: ClassVar[str]
    name: str
    moments: tuple[Moment, ...] = ()


@kind("memory-run")
@dataclass(frozen=True)
class MemoryRun:
    """The memory of one run, phase by phase."""

    kind: ClassVar[str]
    label: str
    phases: tuple[MemoryPhase, ...] = ()

    @property
    def peak(self) -> int:
        """The most bytes held at once."""
        return max((m.bytes for phase in self.phases for m in phase.moments), default=0)

    def after(self, phase: str) -> int:
        """Return the bytes held at the end of the phase with this name. Raises KeyError if there is
        none.
        """
        used = 0
        for current in self.phases:
            used = current.moments[-1].bytes if current.moments else used
            if current.name == phase:
                return used
        raise KeyError(phase)


@kind("memory")
@dataclass(frozen=True)
class Memory(Artifact):
    """The memory of several runs of the same work. All runs have the same phases."""

    runs: tuple[MemoryRun, ...] = ()
    caption: str = ""

    def __getitem__(self, label: str) -> MemoryRun:
        return next(run for run in self.runs if run.label == label)


# --------------------------------------------------------------------------- instructions


@kind("instruction")
@dataclass(frozen=True)
class Instruction:
    """One instruction that Dynamo executed symbolically, with the value stack before the
    instruction and the graph nodes that the instruction added.
    """

    kind: ClassVar[str]
    name: str
    argument: str = ""
    stack: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    location: SourceLine | None = None


@kind("steps")
@dataclass(frozen=True)
class Steps(Artifact):
    """Dynamo's symbolic execution, instruction by instruction."""

    steps: tuple[Instruction, ...] = ()

    def __iter__(self) -> Iterator[Instruction]:
        return iter(self.steps)
