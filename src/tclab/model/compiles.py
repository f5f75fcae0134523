"""Define Dynamo's results as artifacts: graphs, graph breaks, guards, recompiles, symbols."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from tclab.model.artifacts import Artifact, SourceLine, normalise_line_keys
from tclab.model.codec import kind


@kind("node")
@dataclass(frozen=True)
class Node:
    """One FX node. `shape` holds sizes as text, since some sizes are symbols. The shape of a scalar
    is `()`, an unknown shape is None.
    """

    kind: ClassVar[str]
    name: str
    op: str  # placeholder, call_function, call_method, call_module, get_attr, output
    target: str
    args: str = ""
    inputs: tuple[str, ...] = ()  # names of the nodes it reads
    shape: tuple[str, ...] | None = None
    dtype: str = ""  # f32, bf16, i64 … as PyTorch prints them
    device: str = ""
    source: SourceLine | None = None
    keys: tuple[str, ...] = ()


@kind("graph")
@dataclass(frozen=True)
class Graph(Artifact):
    """An FX graph, as text (`code`) and as nodes for the table and the picture."""

    stage: str = ""
    code: str = ""
    nodes: tuple[Node, ...] = ()
    compile_id: str = ""  # e.g. 0/0: frame 0, its first compile
    links: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    marks: Mapping[int, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        normalise_line_keys(self)

    def __len__(self) -> int:
        """Count the operations: nodes that are neither placeholder, get_attr nor output."""
        return sum(n.op.startswith("call_") for n in self.nodes)


@kind("break")
@dataclass(frozen=True)
class Break:
    """One graph break. `gb_id` is PyTorch's registry id such as ``GB0059``, or ''. The `hints` are
    PyTorch's own, or, if they were `tried`, those to show.
    """

    kind: ClassVar[str]
    reason: str
    gb_id: str = ""
    gb_type: str = ""
    explanation: str = ""
    hints: tuple[str, ...] = ()
    location: SourceLine | None = None
    stack: tuple[SourceLine, ...] = ()
    skipped: bool = False  # Dynamo runs the whole frame without compiling
    tried: bool = False


@kind("breaks")
@dataclass(frozen=True)
class Breaks(Artifact):
    """All graph breaks of a capture, and the number of its graphs."""

    breaks: tuple[Break, ...] = ()
    graphs: int = 0

    def __len__(self) -> int:
        return len(self.breaks)

    def __iter__(self) -> Iterator[Break]:
        return iter(self.breaks)


@kind("guard")
@dataclass(frozen=True)
class Guard:
    """One check that a cache entry makes before its compiled code may run."""

    kind: ClassVar[str]
    type: str  # TENSOR_MATCH, EQUALS_MATCH, …
    source: str  # L['x'], G['scale'], …
    checks: tuple[str, ...] = ()
    location: SourceLine | None = None


@kind("guards")
@dataclass(frozen=True)
class Guards(Artifact):
    """The guards of one cache entry."""

    guards: tuple[Guard, ...] = ()
    compile_id: str = ""
    function: str = ""
    tree: str = ""  # the guard tree as PyTorch prints it

    def __len__(self) -> int:
        return len(self.guards)

    def __iter__(self) -> Iterator[Guard]:
        return iter(self.guards)


@kind("recompile")
@dataclass(frozen=True)
class Recompile:
    """A compile of code that already had cache entries. `reasons` are the guards that failed."""

    kind: ClassVar[str]
    compile_id: str
    function: str
    reasons: tuple[str, ...] = ()
    location: SourceLine | None = None


@kind("recompiles")
@dataclass(frozen=True)
class Recompiles(Artifact):
    """All recompiles of a capture."""

    recompiles: tuple[Recompile, ...] = ()

    def __len__(self) -> int:
        return len(self.recompiles)

    def __iter__(self) -> Iterator[Recompile]:
        return iter(self.recompiles)


@kind("symbol")
@dataclass(frozen=True)
class Symbol:
    """A symbolic size: its name, an example value, its source, its range."""

    kind: ClassVar[str]
    name: str
    value: str
    source: str
    bounds: str = ""
    location: SourceLine | None = None


@kind("symbols")
@dataclass(frozen=True)
class Symbols(Artifact):
    """All symbolic sizes of a capture."""

    symbols: tuple[Symbol, ...] = ()

    def __len__(self) -> int:
        return len(self.symbols)

    def __iter__(self) -> Iterator[Symbol]:
        return iter(self.symbols)
