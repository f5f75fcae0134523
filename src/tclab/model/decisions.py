"""What was decided one by one, as artifacts: entries tried, values kept, bytes held."""

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
    """One cache entry that a call tried. `failed` is the first guard that did not hold, or ''."""

    kind: ClassVar[str]
    entry: str  # e.g. 0/1: its frame, its compile
    failed: str = ""


@kind("cached-call")
@dataclass(frozen=True)
class CachedCall:
    """One call: the entries in the order tried, and the entry it `made`, or ''.

    Where none held and none was made, the call ran without compiled code.
    """

    kind: ClassVar[str]
    call: str  # its arguments, in short
    attempts: tuple[Attempt, ...] = ()
    made: str = ""

    @property
    def hit(self) -> str:
        """The entry whose guards held, or ''."""
        return next((attempt.entry for attempt in self.attempts if not attempt.failed), "")


@kind("replay")
@dataclass(frozen=True)
class Replay(Artifact):
    """What a sequence of calls did with the cache entries of one function."""

    calls: tuple[CachedCall, ...] = ()

    def __iter__(self) -> Iterator[CachedCall]:
        return iter(self.calls)


# --------------------------------------------------------------------------- the partition

#: What becomes of a value of the forward: it goes in, so that it is there anyway; it is saved for
#: the backward; it is computed again there; the backward does not read it.
FATES = ("input", "saved", "recomputed", "forward only")


@kind("parted-value")
@dataclass(frozen=True)
class PartedValue:
    """One value of the forward. `bytes` are those of its storage; `storage` numbers it.

    `banned` says why it may not be computed again, or is ''.
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
    """What the partitioner did with each value of a forward that has a backward."""

    values: tuple[PartedValue, ...] = ()
    compile_id: str = ""

    def bytes_of(self, fate: str) -> int:
        """Bytes of the storages of this fate, each once; not of those that an earlier one of FATES
        has: a view of an input costs nothing, nor does a recomputed view of what is saved.
        """
        owners: dict[int, PartedValue] = {}
        for value in sorted(self.values, key=lambda value: FATES.index(value.fate)):
            owners.setdefault(value.storage, value)
        return sum(value.bytes for value in owners.values() if value.fate == fate)


# --------------------------------------------------------------------------- memory


@kind("moment")
@dataclass(frozen=True)
class Moment:
    """Memory was taken or given back: `bytes` held since the begin, and the operation `during`."""

    kind: ClassVar[str]
    bytes: int
    during: str = ""


@kind("memory-phase")
@dataclass(frozen=True)
class MemoryPhase:
    """A part of a run, such as the forward."""

    kind: ClassVar[str]
    name: str
    moments: tuple[Moment, ...] = ()


@kind("memory-run")
@dataclass(frozen=True)
class MemoryRun:
    """One run, phase by phase; `peak` is the most it held at once."""

    kind: ClassVar[str]
    label: str
    phases: tuple[MemoryPhase, ...] = ()

    @property
    def peak(self) -> int:
        """Bytes."""
        return max((m.bytes for phase in self.phases for m in phase.moments), default=0)

    def after(self, phase: str) -> int:
        """Bytes held when the phase of this name has ended."""
        held = 0
        for each in self.phases:
            held = each.moments[-1].bytes if each.moments else held
            if each.name == phase:
                return held
        raise KeyError(phase)


@kind("memory")
@dataclass(frozen=True)
class Memory(Artifact):
    """Memory held while the same work was done in several ways. All have the same phases."""

    runs: tuple[MemoryRun, ...] = ()
    caption: str = ""

    def __getitem__(self, label: str) -> MemoryRun:
        return next(run for run in self.runs if run.label == label)


# --------------------------------------------------------------------------- instructions


@kind("instruction")
@dataclass(frozen=True)
class Instruction:
    """One instruction that Dynamo executed: the value stack before it, and the nodes it made."""

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
