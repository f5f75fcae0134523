"""Define the report of `tclab explain`: everything about one function, as one artifact."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from tclab.errors import TclabError
from tclab.model.agreements import Agreement
from tclab.model.artifacts import Annotated, Artifact, Chain, SourceLine, Table
from tclab.model.codec import Json, decode_kind, kind, read_json, write_json
from tclab.model.compiles import Breaks, Guards, Recompiles, Symbols
from tclab.model.costs import CallCost
from tclab.model.findings import Finding
from tclab.model.kernel_rows import Candidates, KernelRow
from tclab.model.kernels import TimedQuestion
from tclab.model.measurements import Measurement
from tclab.model.runs import Provenance
from tclab.model.snapshots import Snapshot

FORMAT = "tclab explain 5"
_NOWHERE = Provenance("", "", "", "", "", "")


@kind("counts")
@dataclass(frozen=True)
class Counts:
    """The counts of a report. `graphs` counts the first compile of each piece of code only.
    `all_graphs`, `guards`, `kernels` and `library_calls` include recompiles.
    """

    kind: ClassVar[str]
    calls: int = 0
    breaks: int = 0  # breaks that made Dynamo skip a function are not counted
    skipped: int = 0  # functions that run uncompiled
    graphs: int = 0
    recompiles: int = 0
    all_graphs: int = 0
    guards: int = 0
    kernels: int = 0
    library_calls: int = 0


@kind("own-compiles")
@dataclass(frozen=True)
class OwnCompiles:
    """The outcome of the compiles that the reader's own code asks for, from a run of that code.

    `frames` counts the compiles that Dynamo began, and `ok` counts those that it finished. `limits`
    are the functions at the recompile limit. If Dynamo began no compile, `cause` says why, and
    `fix` says what to do.
    """

    kind: ClassVar[str]
    objects: int
    frames: int
    ok: int
    limits: tuple[str, ...] = ()
    cause: str = ""
    fix: str = ""


@kind("caching")
@dataclass(frozen=True)
class CacheResult:
    """The result of looking up a graph in the cache of AOTAutograd or of Inductor. After a ``miss``
    the cache keeps the graph for the next start. A ``bypass`` has a `reason`, and `line` is the
    user's line that calls what the cache cannot keep.
    """

    kind: ClassVar[str]
    compile_id: str
    cache: str
    state: str
    reason: str = ""
    line: SourceLine | None = None

    def __str__(self) -> str:
        """Write a bypass as a sentence: ``Inductor's cache does not take cond (f.py:8)``."""
        place = f" ({self.line})" if self.line else ""
        return f"{self.cache}'s cache does not take {self.reason}{place}"


@kind("checkpoints")
@dataclass(frozen=True)
class Checkpoints:
    """The most memory that a compiled backward uses for recomputed values of its checkpointed
    `regions`. At that moment it holds the values of `held` regions, which have `bytes` bytes in
    all. Eager holds one region at a time, which has at most `one` bytes.
    """

    kind: ClassVar[str]
    regions: int
    held: int
    bytes: int
    one: int


@kind("phase")
@dataclass(frozen=True)
class Phase:
    """One phase of compiling. The phase ran `times` times, and took `seconds` in all, without the
    seconds of inner phases.
    """

    kind: ClassVar[str]
    name: str
    times: int
    seconds: float


@kind("compile-time")
@dataclass(frozen=True)
class CompileTime:
    """The time of compiling, phase by phase. `compiles` counts frames and backward graphs."""

    kind: ClassVar[str]
    phases: tuple[Phase, ...] = ()
    compiles: int = 0

    @property
    def seconds(self) -> float:
        """The seconds of all phases."""
        return sum(phase.seconds for phase in self.phases)

    @property
    def table(self) -> Table:
        """A table with a row for each phase and one for the total; snippets show it."""
        rows = [(phase.name, phase.times, phase.seconds) for phase in self.phases]
        return Table(
            title="Compile time by phase",
            name="times",
            columns=("phase", "times", "seconds"),
            rows=(*rows, ("Total", self.compiles, self.seconds)),
            units=("", "", "s"),
            formats=("", "d", ".3f"),
        )


@kind("gap")
@dataclass(frozen=True)
class Problem:
    """The reason why a report, or a part of a report, is missing: place, cause and next step."""

    kind: ClassVar[str]
    place: str
    cause: str
    next_step: str

    @classmethod
    def from_error(cls, error: TclabError) -> Problem:
        """Return the place, cause and next step of one of tclab's errors as a Problem."""
        return cls(error.place, error.cause, error.next_step)


@kind("advice")
@dataclass(frozen=True)
class Advice:
    """A known fault of this PyTorch that affects the compiled code at `places`, or that may affect
    it if not `certain`. `issue` is the issue about the fault, such as ``pytorch#1``.
    """

    kind: ClassVar[str]
    title: str
    harm: str
    certain: bool
    issue: str
    workaround: str
    places: tuple[str, ...]

    def __str__(self) -> str:
        """Write the advice as text: ``a wrong result, pytorch#1: Masks that repeat``."""
        known = f", {self.issue}" if self.issue else ""
        may = "" if self.certain else ", perhaps"
        return f"{self.harm}{known}: {self.title}{may}, in {', '.join(self.places)}"


@kind("report")
@dataclass(frozen=True)
class Report(Artifact):
    """Everything that `tclab explain` found out about one function. `title` names the function.

    `calls` describes the arguments of each call in words; `target` is the name of a GPU, '' for
    this machine. `remarks` say how the function was found and prepared. `timed` are the choices
    that the target's GPU would make by timing; the report has the kernels of both answers to each.
    If the target was refused, `refusal` says why, and the report has only graphs, breaks and
    guards, or everything but machine code. `gaps` are refused parts of an otherwise complete
    report; `left_out` are slow parts that nobody asked for. `fault` is the error because of which
    the stages are not linked, or ''. `warnings` come from other packages. Two reports are compared
    by their `snapshot`, which is empty in reports of an earlier tclab. `advisories` are known
    faults of this PyTorch that affect the function. `agreement` says whether the results are equal
    to eager's. `own` is set if the function compiles its parts itself and was run unchanged.
    `cachings` are the cache lookups of its graphs, and `checkpoints` are the recomputed values of
    its backwards. `cost` is the least cost of a call; None if the device's rates are not known.
    `findings` are sorted by cost, the highest first.
    """

    calls: tuple[str, ...] = ()
    target: str = ""
    backward: bool = False
    remarks: tuple[str, ...] = ()
    timed: tuple[TimedQuestion, ...] = ()
    refusal: Problem | None = None
    gaps: tuple[Problem, ...] = ()
    left_out: tuple[Problem, ...] = ()
    fault: str = ""
    counts: Counts = Counts()
    kernels: tuple[KernelRow, ...] = ()
    candidates: Candidates = field(default_factory=Candidates)
    sources: tuple[Annotated, ...] = ()
    breaks: Breaks = field(default_factory=Breaks)
    recompiles: Recompiles = field(default_factory=Recompiles)
    symbols: Symbols = field(default_factory=Symbols)
    guards: tuple[Guards, ...] = ()
    chains: tuple[Chain, ...] = ()
    compile_time: CompileTime = CompileTime()
    provenance: Provenance = _NOWHERE
    warnings: tuple[str, ...] = ()
    snapshot: Snapshot = field(default_factory=Snapshot)
    advisories: tuple[Advice, ...] = ()
    agreement: Agreement = field(default_factory=Agreement)
    own: OwnCompiles | None = None
    cachings: tuple[CacheResult, ...] = ()
    checkpoints: tuple[Checkpoints, ...] = ()
    cost: CallCost | None = None
    measurement: Measurement | None = None
    findings: tuple[Finding, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether the report has every part that was asked for."""
        return not (self.refusal or self.gaps or self.left_out or self.fault)

    @property
    def has_kernels(self) -> bool:
        """Whether any chain has a kernel."""
        stages = {pane.stage for chain in self.chains for pane in chain.panes}
        return not stages.isdisjoint({"kernel", "cpp"})

    def to_json(self) -> str:
        """Return the report as one JSON object, which `from_json` reads."""
        return write_json(self, FORMAT)

    @classmethod
    def from_json(cls, text: str) -> Report:
        """Read the text that `to_json` made. Raises ValueError or TypeError for other JSON."""
        return read_json(cls, text, FORMAT)

    @classmethod
    def from_data(cls, data: Json) -> Report:
        """Decode what `encode` returned for a report. Raises TypeError for other data."""
        return decode_kind(cls, data)
