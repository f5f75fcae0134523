"""Note FX graphs and mark their nodes, so that a node of a later graph can name its origin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from torch import fx

from tclab.capturing.trace import names
from tclab.capturing.trace.notes import (
    MARK,
    OFFSET,
    STACK,
    Collector,
    GraphNote,
    NodeNote,
    merge_marks,
)

R = TypeVar("R")


def wrap_print_readable(original: Callable[..., str], notes: Collector) -> Callable[..., str]:
    """Wrap GraphModule.print_readable: note the printed graph, and mark each of its nodes."""

    def print_readable(self: fx.GraphModule, *args: object, **kwargs: object) -> str:
        text = original(self, *args, **kwargs)
        notes.count += 1
        nodes = tuple(_node_note(n) for n in self.graph.nodes)
        notes.add(names.GRAPH, GraphNote(notes.count, text, nodes))
        for node in self.graph.nodes:
            node.meta[MARK] = ((notes.count, node.name),)
        return text

    return print_readable


def _node_note(node: fx.Node) -> NodeNote:
    meta = node.meta
    argument = getattr(meta.get("desc"), "idx", None)
    if type(meta.get("desc")).__name__ != "PlainAOTInput":
        argument = None
    return NodeNote(
        node.name,
        node.op,
        meta.get(MARK, ()),
        node.stack_trace or meta.get(STACK, ""),
        meta.get("seq_nr"),
        meta.get(OFFSET),
        argument,
    )


def wrap_create_node(original: Callable[..., fx.Node], notes: Collector) -> Callable[..., fx.Node]:
    """Wrap SubgraphTracer.create_node: put the bytecode offset and Dynamo's frames into the meta
    of each new node.
    """

    def create_node(self: Any, *args: object, **kwargs: object) -> fx.Node:
        node = original(self, *args, **kwargs)
        frame = getattr(self.output_graph, "root_tx", None)
        instruction = getattr(frame, "current_instruction", None)
        if (offset := getattr(instruction, "offset", None)) is not None:
            node.meta[OFFSET] = offset
        node.meta[STACK] = "\n".join(_dynamo_frames(self.output_graph))
        return node

    return create_node


def _dynamo_frames(output_graph: Any) -> list[str]:
    """Return Dynamo's current frames as lines of a printed stack, outermost first, without the
    frames that only call a module. A node's own stack trace lacks the frames in PyTorch's files; if
    ``nn.Embedding`` is compiled alone, it is empty.
    """
    entries: list[str] = []  # innermost first
    frame = getattr(output_graph, "current_tx", None)
    while frame is not None and (code := getattr(frame, "f_code", None)):
        if not code.co_filename.endswith(_CALL_MACHINERY):
            entries.append(f'  File "{code.co_filename}", line {frame.lineno}, in {code.co_name}')
        frame = getattr(frame, "parent", None)
    return entries[::-1]


_CALL_MACHINERY = ("_dynamo/external_utils.py", "nn/modules/module.py")


#: Classes of the pattern matcher whose `apply` replaces the matched nodes.
PATTERN_ENTRIES = ("LoweringPatternEntry", "GraphPatternEntry", "ReplacementPatternEntry")


def wrap_pattern_apply(original: Callable[..., None], notes: Collector) -> Callable[..., None]:
    """Wrap `apply` of a pattern entry: mark each new node with the marks of the matched nodes."""

    def apply(self: object, match: Any, graph: fx.Graph, node: fx.Node) -> None:
        before = set(graph.nodes)
        marks = merge_marks(n.meta.get(MARK, ()) for n in match.nodes)
        original(self, match, graph, node)
        for new in graph.nodes:
            if new not in before and MARK not in new.meta:
                new.meta[MARK] = marks

    return apply


def wrap_replace_all_uses(original: Callable[..., R], notes: Collector) -> Callable[..., R]:
    """Wrap Node.replace_all_uses_with: a replacement without marks gets the marks of the replaced
    node, and so do the replacement's inputs without marks.
    """

    def replace_all_uses_with(self: fx.Node, new: fx.Node, *args: object, **kwargs: object) -> R:
        queue = [new] if MARK in self.meta and isinstance(new, fx.Node) else []
        while queue:
            node = queue.pop()
            if MARK not in node.meta:
                node.meta[MARK] = self.meta[MARK]
                queue += node.all_input_nodes
        return original(self, new, *args, **kwargs)

    return replace_all_uses_with
