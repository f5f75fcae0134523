"""Resolve marks to keys of the nodes that they refer to, in the graphs that the capture shows.

While a compile runs, each new node is marked with the nodes from which it was made
(`tclab.capturing.torch_private.origins`). Here those marks become keys of `tclab.model.links`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tclab.capturing.read import frames, graphs
from tclab.capturing.trace import names
from tclab.capturing.trace.events import Event, Trace
from tclab.capturing.trace.notes import GraphNote, Marks, NodeNote
from tclab.model import SourceLine, links
from tclab.text import user_lines


@dataclass(frozen=True)
class ShownGraph:
    """A graph that the capture shows: number `index` of its stage."""

    stage: str
    index: int
    note: GraphNote
    compile_id: str

    def node_key(self, name: str) -> str:
        """Return the key of the node with this name."""
        return links.node_key(self.stage, self.index, name)

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """The names of the graph's inputs, in order."""
        return tuple(n.name for n in self.note.nodes if n.op == "placeholder")

    @cached_property
    def nodes_by_seq_nr(self) -> Mapping[int, list[NodeNote]]:
        """`seq_nr` → the marked nodes with this number. It is an index, because a backward has
        thousands of nodes.
        """
        numbered: dict[int, list[NodeNote]] = {}
        for node in self.note.nodes:
            if node.marks and node.seq_nr is not None:
                numbered.setdefault(node.seq_nr, []).append(node)
        return numbered


@dataclass
class Origins:
    """The graphs that a capture shows, and the marks of the nodes of all graphs."""

    shown_graphs: dict[tuple[str, int], ShownGraph] = field(default_factory=dict)
    _graphs: dict[int, GraphNote] = field(default_factory=dict)
    _nodes: dict[tuple[int, str], NodeNote] = field(default_factory=dict)
    _by_number: dict[int, ShownGraph] = field(default_factory=dict)

    @classmethod
    def read(cls, trace: Trace) -> Origins:
        """Read the graphs of a trace."""
        origins = cls()
        counts = dict.fromkeys(graphs.EVENTS, 0)
        stages = {event: stage for stage, events in graphs.EVENTS.items() for event in events}
        shown = {id(event) for event in graphs.select_events(trace)}
        for event in trace.events:
            if event.name == names.GRAPH:
                origins._add_graph(event.data)
            elif id(event) in shown:
                stage = stages[event.name]
                origins._add_shown_graph(stage, counts[stage], event)
                counts[stage] += 1
        return origins

    def _add_graph(self, note: GraphNote) -> None:
        self._graphs[note.number] = note
        self._nodes |= {(note.number, node.name): node for node in note.nodes}

    def _add_shown_graph(self, stage: str, index: int, event: Event[Any]) -> None:
        """Add the last graph that was printed with the event's text."""
        same_text = (g for g in reversed(self._graphs.values()) if g.text == event.payload)
        if (note := next(same_text, None)) is not None:
            graph = ShownGraph(stage, index, note, event.compile_id)
            self.shown_graphs[stage, index] = self._by_number[note.number] = graph

    def keys(self, marks: Marks) -> links.Keys:
        """Return the keys of the nodes to which marks refer, each in the nearest graph that is
        shown.
        """
        keys: dict[str, None] = {}
        pending = list(reversed(marks))
        seen = set()
        while pending:
            mark = pending.pop()
            if mark in seen:
                continue
            seen.add(mark)
            if graph := self._by_number.get(mark[0]):
                keys[graph.node_key(mark[1])] = None
            elif node := self._nodes.get(mark):
                pending += reversed(node.marks)
        return tuple(keys)

    def parents(self, graph: ShownGraph) -> dict[str, links.Keys]:
        """Map each node of a graph to the keys of the nodes in earlier graphs from which it was
        made.
        """
        parents = {node.name: self.keys(node.marks) for node in graph.note.nodes}
        for node in graph.note.nodes:
            if not parents[node.name]:
                keys = self._forward_keys(node, graph) or self._dynamo_input_keys(node, graph)
                parents[node.name] = keys
        return parents

    def _forward_keys(self, node: NodeNote, graph: ShownGraph) -> links.Keys:
        """Return the keys of the forward nodes with the same `seq_nr` and stack as a backward's
        node.
        """
        if graph.stage != "joint" or node.seq_nr is None or not node.op.startswith("call"):
            return ()
        stack = user_stack(node.stack)
        forward = graph.nodes_by_seq_nr.get(node.seq_nr, ())
        return tuple(graph.node_key(n.name) for n in forward if user_stack(n.stack) == stack)

    def _dynamo_input_keys(self, node: NodeNote, graph: ShownGraph) -> links.Keys:
        """Return the key of the Dynamo input that corresponds to this input of AOTAutograd's
        graph.
        """
        if node.argument is None or node.op != "placeholder":
            return ()
        for dynamo in self.shown_graphs.values():
            is_same_compile = dynamo.stage == "dynamo" and dynamo.compile_id == graph.compile_id
            if is_same_compile and node.argument < len(dynamo.inputs):
                return (dynamo.node_key(dynamo.inputs[node.argument]),)
        return ()


def user_stack(stack: str) -> list[SourceLine]:
    """Return the user's lines of a printed stack, outermost first. If no line is the user's, return
    all lines; this happens for a module of PyTorch that is compiled alone.
    """
    return user_lines.select_user_lines_or_all(frames.printed_stack(stack), lambda line: line.file)


def python_keys(stack: str) -> links.Keys:
    """Return the keys of the user's lines in a printed stack."""
    return tuple(dict.fromkeys(links.python_key(s.file, s.line) for s in user_stack(stack)))
