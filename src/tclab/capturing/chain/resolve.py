"""From a mark to keys: which node of which graph that the capture shows it means.

While a compile runs, what is made is marked with what it was made from
(`tclab.capturing.torch_private.origins`). Here those marks become keys of `tclab.model.links`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tclab import user_lines
from tclab.capturing.read import frames, graphs
from tclab.capturing.trace import names
from tclab.capturing.trace.events import Event, Trace
from tclab.capturing.trace.notes import GraphNote, Marks, NodeNote
from tclab.model import SourceLine, links


@dataclass(frozen=True)
class ShownGraph:
    """A graph that the capture shows, the number `index` of its stage."""

    stage: str
    index: int
    note: GraphNote
    compile_id: str

    def key(self, name: str) -> str:
        """The key of one of its nodes."""
        return links.node(self.stage, self.index, name)

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """The names of its inputs, in order."""
        return tuple(n.name for n in self.note.nodes if n.op == "placeholder")

    @cached_property
    def of_number(self) -> Mapping[int, list[NodeNote]]:
        """Its marked nodes by `seq_nr`: thousands of gradients ask for theirs."""
        numbered: dict[int, list[NodeNote]] = {}
        for node in self.note.nodes:
            if node.marks and node.seq_nr is not None:
                numbered.setdefault(node.seq_nr, []).append(node)
        return numbered


@dataclass
class Origins:
    """The graphs that a capture shows, and what each node of any graph was made from."""

    shown_graphs: dict[tuple[str, int], ShownGraph] = field(default_factory=dict)
    _graphs: dict[int, GraphNote] = field(default_factory=dict)
    _nodes: dict[tuple[int, str], NodeNote] = field(default_factory=dict)
    _by_number: dict[int, ShownGraph] = field(default_factory=dict)

    @classmethod
    def read(cls, trace: Trace) -> Origins:
        """Those of a trace."""
        origins = cls()
        counts = dict.fromkeys(graphs.EVENTS, 0)
        stages = {event: stage for stage, events in graphs.EVENTS.items() for event in events}
        for event in trace.events:
            if event.name == names.GRAPH:
                origins._take(event.data)
            elif stage := stages.get(event.name):
                origins._show(stage, counts[stage], event)
                counts[stage] += 1
        return origins

    def _take(self, note: GraphNote) -> None:
        self._graphs[note.number] = note
        self._nodes |= {(note.number, node.name): node for node in note.nodes}

    def _show(self, stage: str, index: int, event: Event[Any]) -> None:
        """The event's graph is the last one that was printed with its text."""
        same = (g for g in reversed(self._graphs.values()) if g.text == event.payload)
        if (note := next(same, None)) is not None:
            graph = ShownGraph(stage, index, note, event.compile_id)
            self.shown_graphs[stage, index] = self._by_number[note.number] = graph

    def keys(self, marks: Marks) -> links.Keys:
        """The nodes that marks mean, in the nearest graph that is shown."""
        keys: dict[str, None] = {}
        waiting = list(reversed(marks))
        seen = set()
        while waiting:
            mark = waiting.pop()
            if mark in seen:
                continue
            seen.add(mark)
            if graph := self._by_number.get(mark[0]):
                keys[graph.key(mark[1])] = None
            elif node := self._nodes.get(mark):
                waiting += reversed(node.marks)
        return tuple(keys)

    def parents(self, graph: ShownGraph) -> dict[str, links.Keys]:
        """Each node of a graph → the nodes of earlier graphs it was made from."""
        parents = {node.name: self.keys(node.marks) for node in graph.note.nodes}
        for node in graph.note.nodes:
            if not parents[node.name]:
                parents[node.name] = self._gradient(node, graph) or self._argument(node, graph)
        return parents

    def _gradient(self, node: NodeNote, graph: ShownGraph) -> links.Keys:
        """The nodes a gradient's node is the gradient of: PyTorch gives both one number and
        the gradient the stack of its forward.
        """
        if graph.stage != "joint" or node.seq_nr is None or not node.op.startswith("call"):
            return ()
        stack = user_stack(node.stack)
        forward = graph.of_number.get(node.seq_nr, ())
        return tuple(graph.key(n.name) for n in forward if user_stack(n.stack) == stack)

    def _argument(self, node: NodeNote, graph: ShownGraph) -> links.Keys:
        """The input of the Dynamo graph that an input of AOTAutograd's graph is."""
        if node.argument is None or node.op != "placeholder":
            return ()
        for dynamo in self.shown_graphs.values():
            same = dynamo.stage == "dynamo" and dynamo.compile_id == graph.compile_id
            if same and node.argument < len(dynamo.inputs):
                return (dynamo.key(dynamo.inputs[node.argument]),)
        return ()


def user_stack(stack: str) -> list[SourceLine]:
    """The user's lines of a printed stack, outermost first; all lines where none is the user's
    (the function compiled is a module of PyTorch's).
    """
    return user_lines.users_or_all(frames.printed_stack(stack), lambda line: line.file)


def python_keys(stack: str) -> links.Keys:
    """Keys of the user's lines in a printed stack."""
    return tuple(dict.fromkeys(links.python(s.file, s.line) for s in user_stack(stack)))
