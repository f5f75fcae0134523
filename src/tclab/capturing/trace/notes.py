"""Define the notes that tclab takes during a compile: where nodes, loop bodies and lines come
from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from tclab.capturing.trace.events import CompileIds, EventName, Trace
from tclab.model import FusedGroup

GetCompileIds = Callable[[], CompileIds]
N = TypeVar("N")

# The keys that tclab sets in node.meta. MARK has the marks of the nodes from which a node was made;
# once the node's graph is printed, it has the node's own mark.
MARK = "tclab_mark"
MARKS = "tclab_marks"  #: in a loop body: marks of the FX nodes that the node computes
OFFSET = "tclab_at"  #: offset of the bytecode instruction that made the node
STACK = "tclab_stack"  #: Dynamo's frames when it made the node, as a printed stack
#: The number of a printed graph, and the name of a node in it.
Mark = tuple[int, str]
Marks = tuple[Mark, ...]


@dataclass(frozen=True)
class NodeNote:
    """An FX node at the moment when its graph was printed. `marks` name the nodes from which it was
    made.
    """

    name: str
    op: str
    marks: Marks
    # the user's stack when the node was made; a gradient has the stack of its forward node
    stack: str
    seq_nr: int | None  # a gradient's nodes have the number of their forward node
    offset: int | None  # offset of the bytecode instruction that made the node
    argument: int | None  # for a graph input: its position in the arguments of the previous graph


@dataclass(frozen=True)
class GraphNote:
    """A graph that PyTorch printed as `text`."""

    number: int
    text: str
    nodes: tuple[NodeNote, ...]


@dataclass(frozen=True)
class CutValue:
    """A value of the joint graph after the partitioner cut it: the bytes and the number of its
    storage, and the reason why the value must not be recomputed ('' if it may be).
    """

    name: str
    bytes: int
    storage: int
    banned: str


@dataclass(frozen=True)
class CutNote:
    """The tensors of a joint graph after the partitioner cut it."""

    values: tuple[CutValue, ...]


@dataclass(frozen=True)
class StepNote:
    """A line of the log ``trace_bytecode``, with the source line that Dynamo was tracing and the
    names of the nodes that the graph had so far.
    """

    text: str
    file: str
    line: int
    function: str
    nodes: tuple[str, ...]


@dataclass(frozen=True)
class CallNote:
    """A call in a graph of one operator level. `origin` names the node of the level above that made
    this call. Only the first level has the user's `file` and `line`.
    """

    name: str
    target: str  # the operator's name, such as aten.add.Tensor; '' if it calls no operator
    origin: str
    shape: tuple[str, ...] | None
    dtype: str
    file: str = ""
    line: int = 0


@dataclass(frozen=True)
class FusionQueryNote:
    """A question of Inductor's scheduler: may these two scheduler nodes fuse? Each node is given by
    the names of its operations.

    `shared` lists (buffer, bytes) for each buffer that both access at the same index. `declined_by`
    is the function of the code generator that declined, or ''.
    """

    first: tuple[str, ...]
    second: tuple[str, ...]
    may: bool
    shared: tuple[tuple[str, int], ...]
    declined_by: str = ""


@dataclass(frozen=True)
class FusedNote:
    """A fusion of two scheduler nodes. `before` and `after` are the bytes that the two read and
    write in all, without and with the fusion; None if Inductor does not know them.
    """

    first: tuple[str, ...]
    second: tuple[str, ...]
    before: int | None
    after: int | None


@dataclass(frozen=True)
class LoopBodiesNote:
    """The loop bodies at the time when Inductor logged its IR. `marks` maps each scheduled
    operation, and then each node of its loop body, to the marks of the FX nodes that this node
    computes.
    """

    marks: dict[str, dict[str, Marks]]  # op → body node → marks
    origins: dict[str, Marks]  # op → marks of the FX nodes in its origins
    groups: tuple[FusedGroup, ...] = ()


@dataclass
class KernelLine:
    """A line of a kernel. `marks` are the FX nodes for which the line was written; `again` are the
    FX nodes that reuse its value.
    """

    text: str
    marks: Marks
    body: tuple[str, str] | None  # the operation, and the name of the node in its loop body
    # id of the code generator; a C++ kernel has one for the vector loop, one for its tail, …
    writer: int
    again: Marks = ()


@dataclass(frozen=True)
class KernelNote:
    """The lines of one kernel, in the order in which they were written."""

    name: str
    lines: tuple[KernelLine, ...]


@dataclass
class Collector:
    """A collector of notes for all captures that are listening at the moment."""

    traces: list[Trace]
    compile_id: GetCompileIds  # returns the ids of the current compile
    count: int = 0  # number of printed graphs
    bodies: dict[int, tuple[str, str]] = field(default_factory=dict)  # id(node) → (op, name)
    # keeps the nodes alive, because the id() of a freed node is reused
    alive: list[Any] = field(default_factory=list)
    lines: list[tuple[Any, KernelLine]] = field(default_factory=list)  # (kernel, line) pairs
    # (id(kernel), variable) → the line that assigns it
    values: dict[tuple[int, str], KernelLine] = field(default_factory=dict)

    def add(self, name: EventName[N], data: N) -> None:
        """Append an event with this data to the trace of each capture."""
        for trace in self.traces:
            trace.add(name, data, "", self.compile_id())


def merge_marks(groups: Iterable[Marks]) -> Marks:
    """Join groups of marks into one, in order, without duplicates."""
    return tuple(dict.fromkeys(mark for marks in groups for mark in marks))
