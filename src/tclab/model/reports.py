"""What `tclab explain` makes: everything of one function, as one artifact."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import ClassVar

from tclab.model.artifacts import Annotated, Artifact, Chain, Table
from tclab.model.codec import Json, decode, encode_object, kind
from tclab.model.compiles import Breaks, Guards, Recompiles, Symbols
from tclab.model.kernel_rows import Candidates, KernelRow
from tclab.model.kernels import TimedQuestion
from tclab.model.runs import Provenance
from tclab.model.snapshots import Snapshot

FORMAT = "tclab explain 5"
_NOWHERE = Provenance("", "", "", "", "", "")


@kind("counts")
@dataclass(frozen=True)
class Counts:
    """How much of everything there was. `graphs` are those of the first compile of each piece of
    code; `all_graphs`, and the guards, kernels and library calls, are those of recompiles, too.
    """

    kind: ClassVar[str]
    calls: int = 0
    breaks: int = 0  # without those for which a function was skipped
    skipped: int = 0  # functions that run without compiling
    graphs: int = 0
    recompiles: int = 0
    all_graphs: int = 0
    guards: int = 0
    kernels: int = 0
    library_calls: int = 0


@kind("phase")
@dataclass(frozen=True)
class Phase:
    """One phase of compiling: how often it began, and its seconds without phases inside it."""

    kind: ClassVar[str]
    name: str
    times: int
    seconds: float


@kind("compile-time")
@dataclass(frozen=True)
class CompileTime:
    """What compiling took: phase by phase, over so many frames and backward graphs."""

    kind: ClassVar[str]
    phases: tuple[Phase, ...] = ()
    compiles: int = 0

    @property
    def seconds(self) -> float:
        """Of all phases."""
        return sum(phase.seconds for phase in self.phases)

    @property
    def table(self) -> Table:
        """Each phase, and their total, as a snippet shows them."""
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
class Gap:
    """Something that a report lacks: where, why, and what the reader can do."""

    kind: ClassVar[str]
    place: str
    cause: str
    next_step: str


@kind("advice")
@dataclass(frozen=True)
class Advice:
    """A known fault of the PyTorch that compiled something, which `places` of it have or, where it
    is not `certain`, may have. `issue` is who reported it: ``pytorch#1``.
    """

    kind: ClassVar[str]
    title: str
    harm: str
    certain: bool
    issue: str
    workaround: str
    places: tuple[str, ...]

    def __str__(self) -> str:
        """``a wrong result, pytorch#1: Masks that repeat, in pointwise aten.rand``."""
        known = f", {self.issue}" if self.issue else ""
        may = "" if self.certain else ", perhaps"
        return f"{self.harm}{known}: {self.title}{may}, in {', '.join(self.places)}"


@kind("report")
@dataclass(frozen=True)
class Report(Artifact):
    """Everything that `tclab explain` says of one function. `title` is what was explained.

    `calls` are the arguments of each call in words; `target` is a GPU's name, '' for this machine.
    `remarks` say what was done to get at the function; `timed` is what the target's GPU would time,
    so that some kernels are of both ways. `refusal` is why the target was refused; then there are
    only graphs, breaks and guards, or all but machine code. `gaps` are parts that were refused
    while the rest is shown; `left_out` what takes long and was not asked for. `fault` says why the
    stages could not be linked, where they could not. `warnings` are those of other packages.
    `snapshot` is what two reports are compared by; in one of an earlier tclab it is empty.
    `advisories` are known faults of this PyTorch that something in it has.
    """

    calls: tuple[str, ...] = ()
    target: str = ""
    backward: bool = False
    remarks: tuple[str, ...] = ()
    timed: tuple[TimedQuestion, ...] = ()
    refusal: Gap | None = None
    gaps: tuple[Gap, ...] = ()
    left_out: tuple[Gap, ...] = ()
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

    @property
    def complete(self) -> bool:
        """Whether it has everything that was asked for."""
        return not (self.refusal or self.gaps or self.left_out or self.fault)

    @property
    def has_kernels(self) -> bool:
        """Whether some chain reaches a kernel."""
        stages = {pane.stage for chain in self.chains for pane in chain.panes}
        return not stages.isdisjoint({"kernel", "cpp"})

    def to_json(self) -> str:
        """One JSON object; `from_json` reads it back."""
        data = {"format": FORMAT, **encode_object(self)}
        return json.dumps(data, indent=1, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Report:
        """The inverse of `to_json`. ValueError or TypeError for JSON of another kind."""
        data: Json = json.loads(text)
        if not isinstance(data, dict) or data.pop("format", None) != FORMAT:
            raise ValueError(f"not a report of the format {FORMAT!r}")
        return cls.from_data(data)

    @classmethod
    def from_data(cls, data: Json) -> Report:
        """The inverse of `encode`. TypeError for data of another kind."""
        report = decode(data)
        if not isinstance(report, cls):
            raise TypeError("it has no report")
        return report
