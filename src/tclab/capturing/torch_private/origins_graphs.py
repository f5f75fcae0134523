"""Note FX graphs: which node of a later graph was made from which of an earlier one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from torch import fx

from tclab.capturing.trace import names
from tclab.capturing.trace.notes import AT, MARK, STACK, Collected, GraphNote, NodeNote, joined

R = TypeVar("R")


def print_readable(original: Callable[..., str], notes: Collected) -> Callable[..., str]:
    """A graph that is printed is noted, and each of its nodes marked."""

    def print_readable(self: fx.GraphModule, *args: object, **kwargs: object) -> str:
        text = original(self, *args, **kwargs)
        notes.count += 1
        nodes = tuple(_note(n) for n in self.graph.nodes)
        notes.add(names.GRAPH, GraphNote(notes.count, text, nodes))
        for node in self.graph.nodes:
            node.meta[MARK] = ((notes.count, node.name),)
        return text

    return print_readable


def _note(node: fx.Node) -> NodeNote:
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
        meta.get(AT),
        argument,
    )


def dynamo_node(original: Callable[..., fx.Node], notes: Collected) -> Callable[..., fx.Node]:
    """A node Dynamo makes knows the instruction and the frames it was made in."""

    def create_node(self: Any, *args: object, **kwargs: object) -> fx.Node:
        node = original(self, *args, **kwargs)
        frame = getattr(self.output_graph, "root_tx", None)
        instruction = getattr(frame, "current_instruction", None)
        if (offset := getattr(instruction, "offset", None)) is not None:
            node.meta[AT] = offset
        node.meta[STACK] = "\n".join(_frames(self.output_graph))
        return node

    return create_node


def _frames(output_graph: Any) -> list[str]:
    """Where Dynamo is, outermost first, without the plumbing of calls. PyTorch leaves its own
    files out of a node's stack; of ``nn.Embedding`` compiled alone nothing is left.
    """
    entries: list[str] = []  # innermost first
    frame = getattr(output_graph, "current_tx", None)
    while frame is not None and (code := getattr(frame, "f_code", None)):
        if not code.co_filename.endswith(_PLUMBING):
            entries.append(f'  File "{code.co_filename}", line {frame.lineno}, in {code.co_name}')
        frame = getattr(frame, "parent", None)
    return entries[::-1]


_PLUMBING = ("_dynamo/external_utils.py", "nn/modules/module.py")


#: Kinds of what a pattern does with the nodes it matched.
ENTRIES = ("LoweringPatternEntry", "GraphPatternEntry", "ReplacementPatternEntry")


def replace(original: Callable[..., None], notes: Collected) -> Callable[..., None]:
    """What takes the place of matched nodes is made from them."""

    def apply(self: object, match: Any, graph: fx.Graph, node: fx.Node) -> None:
        before = set(graph.nodes)
        marks = joined(n.meta.get(MARK, ()) for n in match.nodes)
        original(self, match, graph, node)
        for new in graph.nodes:
            if new not in before and MARK not in new.meta:
                new.meta[MARK] = marks

    return apply


def replace_uses(original: Callable[..., R], notes: Collected) -> Callable[..., R]:
    """A node that takes the place of another is made from it, if nothing else is known; so are
    the new nodes it reads.
    """

    def replace_all_uses_with(self: fx.Node, new: fx.Node, *args: object, **kwargs: object) -> R:
        waiting = [new] if MARK in self.meta and isinstance(new, fx.Node) else []
        while waiting:
            node = waiting.pop()
            if MARK not in node.meta:
                node.meta[MARK] = self.meta[MARK]
                waiting += node.all_input_nodes
        return original(self, new, *args, **kwargs)

    return replace_all_uses_with
