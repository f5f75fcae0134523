"""What is noted of origins while a compile runs: plain data, and where it is collected."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from tclab.capturing.trace.events import EventName, Ids, Trace
from tclab.model import FusedGroup

CompileId = Callable[[], Ids]
N = TypeVar("N")

MARK = "tclab_mark"  #: in node.meta: the nodes it was made from, or itself once printed
MARKS = "tclab_marks"  #: in node.meta of a loop body's node: the nodes it was made for
AT = "tclab_at"  #: in node.meta: offset of the instruction of the frame that made the node
STACK = "tclab_stack"  #: in node.meta: the frames Dynamo was in, as a printed stack
Mark = tuple[int, str]
Marks = tuple[Mark, ...]


@dataclass(frozen=True)
class NodeNote:
    """One FX node when its graph was printed. `marks` are the nodes it was made from."""

    name: str
    op: str
    marks: Marks
    stack: str  # the user's stack when the node was made; of a gradient, its forward's
    seq_nr: int | None  # shared by a gradient's nodes and the nodes it is the gradient of
    offset: int | None  # of the instruction Dynamo was at
    argument: int | None  # a graph input's position among the arguments of the graph before


@dataclass(frozen=True)
class GraphNote:
    """A graph that was printed as `text`."""

    number: int
    text: str
    nodes: tuple[NodeNote, ...]


@dataclass(frozen=True)
class CutValue:
    """A value of the joint graph when the partitioner had cut it: bytes of its storage, the
    storage's number, and why it was banned from being computed again, or ''.
    """

    name: str
    bytes: int
    storage: int
    banned: str


@dataclass(frozen=True)
class CutNote:
    """The tensors of a joint graph that was cut."""

    values: tuple[CutValue, ...]


@dataclass(frozen=True)
class StepNote:
    """A line of the log ``trace_bytecode``; where Dynamo was, and the graph's nodes by then."""

    text: str
    file: str
    line: int
    function: str
    nodes: tuple[str, ...]


@dataclass(frozen=True)
class CallNote:
    """A node of a traced level: `origin` is the node of the level above that was running when it
    was made; `file` and `line` are the user's, of the first level only.
    """

    name: str
    target: str  # an operator's own name, as aten.add.Tensor; '' for what is no operator
    origin: str
    shape: tuple[str, ...] | None
    dtype: str
    file: str = ""
    line: int = 0


@dataclass(frozen=True)
class AskedNote:
    """The scheduler asked whether two of its nodes may fuse, each given by the names in it.

    `shared` are (buffer, bytes) that both read or write in the same order; `declined_by` is the
    function of the code generator that said no, or ''.
    """

    first: tuple[str, ...]
    second: tuple[str, ...]
    may: bool
    shared: tuple[tuple[str, int], ...]
    declined_by: str = ""


@dataclass(frozen=True)
class FusedNote:
    """Two scheduler nodes were fused: the bytes of memory that they move alone, and together."""

    first: tuple[str, ...]
    second: tuple[str, ...]
    before: int | None
    after: int | None


@dataclass(frozen=True)
class BodyNote:
    """The nodes of all loop bodies when the IR was logged: ``op: {line's name: marks}``."""

    marks: dict[str, dict[str, Marks]]
    origins: dict[str, Marks]  # op → what the scheduler says it computes
    groups: tuple[FusedGroup, ...] = ()


@dataclass
class Line:
    """A line that was written for a node of a loop body; `again` asked for its value, too."""

    text: str
    marks: Marks
    body: tuple[str, str] | None  # op, name of the body's node
    writer: int  # a C++ kernel is written by several: a vector loop, its tail, …
    again: Marks = ()


@dataclass(frozen=True)
class KernelNote:
    """The lines written for one kernel, in order."""

    name: str
    lines: tuple[Line, ...]


@dataclass
class Collected:
    """What is collected while one or more captures listen."""

    traces: list[Trace]
    compile_id: CompileId  # of the compile that is under way
    count: int = 0
    bodies: dict[int, tuple[str, str]] = field(default_factory=dict)  # id(node) → op, name
    alive: list[Any] = field(default_factory=list)  # keeps the ids above unique
    lines: list[tuple[Any, Line]] = field(default_factory=list)  # kernel, line
    values: dict[tuple[int, str], Line] = field(default_factory=dict)  # id(kernel), variable

    def add(self, name: EventName[N], data: N) -> None:
        """Append an event to every trace."""
        for trace in self.traces:
            trace.add(name, data, "", self.compile_id())


def joined(several: Iterable[Marks]) -> Marks:
    """All marks, each once, in order."""
    return tuple(dict.fromkeys(mark for marks in several for mark in marks))
