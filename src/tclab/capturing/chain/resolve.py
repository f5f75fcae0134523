"""Resolve what `_torch_links` noted into keys: which line of which graph a mark means.

Keys are ``py:<file>:<line>``, ``bc:<compile>:<offset>``, ``fx:<stage>:<index>:<node>``,
``ir:<unit>:<op>[:<value>]``, ``kernel:<unit>.<kernel>:<line>`` and, below the kernel,
``ttir:<unit>.<kernel>:<position>`` and so on. A unit is one graph that Inductor compiled, a
kernel one of its kernels, both counted from 0.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tclab.capturing.read import frames, graphs
from tclab.capturing.trace.events import Event, Trace
from tclab.capturing.trace.notes import BodyNote, GraphNote, KernelNote, Marks, NodeNote
from tclab.model import SourceLine

Keys = tuple[str, ...]


def joined(several: Iterable[Keys]) -> Keys:
    """All keys, each once, in order."""
    return tuple(dict.fromkeys(key for keys in several for key in keys))


@dataclass(frozen=True)
class Shown:
    """A graph that the capture shows: ``fx:<stage>:<index>:…`` are its nodes' keys."""

    stage: str
    index: int
    note: GraphNote
    compile_id: str

    def key(self, name: str) -> str:
        """The key of one of its nodes."""
        return f"fx:{self.stage}:{self.index}:{name}"


@dataclass
class Notes:
    """Everything noted in one capture, by where it belongs."""

    shown: dict[tuple[str, int], Shown] = field(default_factory=dict)
    bodies: dict[int, BodyNote] = field(default_factory=dict)  # unit → its loop bodies
    kernels: dict[int, dict[str, list[KernelNote]]] = field(default_factory=dict)
    _graphs: dict[int, GraphNote] = field(default_factory=dict)
    _nodes: dict[tuple[int, str], NodeNote] = field(default_factory=dict)
    _by_number: dict[int, Shown] = field(default_factory=dict)

    @classmethod
    def read(cls, trace: Trace) -> Notes:
        """The notes of a trace."""
        notes, unit = cls(), -1
        counts = dict.fromkeys(graphs.EVENTS, 0)
        stages = {event: stage for stage, events in graphs.EVENTS.items() for event in events}
        for event in trace.events:
            if event.name == "links_graph":
                notes._take(event.data)
            elif stage := stages.get(event.name):
                notes._show(stage, counts[stage], event)
                counts[stage] += 1
                unit += event.name == "inductor_post_grad_graph"
            elif event.name == "links_ir":
                notes.bodies[unit] = event.data
            elif event.name == "links_kernel":
                of_unit = notes.kernels.setdefault(unit, {})
                of_unit.setdefault(event.data.name, []).append(event.data)
        return notes

    def _take(self, note: GraphNote) -> None:
        self._graphs[note.number] = note
        self._nodes |= {(note.number, node.name): node for node in note.nodes}

    def _show(self, stage: str, index: int, event: Event) -> None:
        """The event's graph is the last one that was printed with its text."""
        same = (g for g in reversed(self._graphs.values()) if g.text == event.payload)
        if (note := next(same, None)) is not None:
            shown = Shown(stage, index, note, event.compile_id)
            self.shown[stage, index] = self._by_number[note.number] = shown

    def keys(self, marks: Marks) -> Keys:
        """The nodes that marks mean, in the nearest graph that is shown."""
        found: dict[str, None] = {}
        waiting = list(reversed(marks))
        seen = set()
        while waiting:
            mark = waiting.pop()
            if mark in seen:
                continue
            seen.add(mark)
            if shown := self._by_number.get(mark[0]):
                found[shown.key(mark[1])] = None
            elif node := self._nodes.get(mark):
                waiting += reversed(node.marks)
        return tuple(found)

    def parents(self, shown: Shown) -> dict[str, Keys]:
        """Each node of a graph → the nodes of earlier graphs it was made from."""
        found = {node.name: self.keys(node.marks) for node in shown.note.nodes}
        for node in shown.note.nodes:
            if not found[node.name]:
                found[node.name] = self._gradient(node, shown) or self._argument(node, shown)
        return found

    def _gradient(self, node: NodeNote, shown: Shown) -> Keys:
        """The nodes a gradient's node is the gradient of: PyTorch gives both one number and
        the gradient the stack of its forward.
        """
        if shown.stage != "joint" or node.seq_nr is None or not node.op.startswith("call"):
            return ()
        stack = user_lines(node.stack)
        forward = (n for n in shown.note.nodes if n.marks and n.seq_nr == node.seq_nr)
        return tuple(shown.key(n.name) for n in forward if user_lines(n.stack) == stack)

    def _argument(self, node: NodeNote, shown: Shown) -> Keys:
        """The input of the Dynamo graph that an input of AOTAutograd's graph is."""
        if node.argument is None or node.op != "placeholder":
            return ()
        for dynamo in self.shown.values():
            if dynamo.stage == "dynamo" and dynamo.compile_id == shown.compile_id:
                inputs = [n.name for n in dynamo.note.nodes if n.op == "placeholder"]
                if node.argument < len(inputs):
                    return (dynamo.key(inputs[node.argument]),)
        return ()


def user_lines(stack: str) -> tuple[SourceLine, ...]:
    """The lines of a printed stack, outermost first, without PyTorch's own; where PyTorch's are
    all there is (the function compiled is a module of PyTorch's), those.
    """
    lines = frames.printed_stack(stack)
    return tuple(s for s in lines if not of_torch(s.file)) or lines


def of_torch(file: str) -> bool:
    """Whether a file, scrubbed, is PyTorch's own."""
    return file.startswith("torch/")


def python_keys(stack: str) -> Keys:
    """Keys of the user's lines in a printed stack."""
    return tuple(dict.fromkeys(f"py:{s.file}:{s.line}" for s in user_lines(stack)))
