"""Read the FX graphs of each stage from the structured trace, or from a GraphModule."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

from tclab.capturing.read import printed_graph
from tclab.capturing.trace.events import Event, Trace
from tclab.model import Graph, Listing, Node, SourceLine, links
from tclab.text.scrub import scrub

if TYPE_CHECKING:
    import torch

NodeKey = Callable[[str], str]  # a node's name → its key

#: Stage → the names of its events in the trace. An inference graph is a forward graph.
EVENTS = {
    "dynamo": ("dynamo_output_graph",),
    "pre_grad": ("after_pre_grad_graph",),
    "joint": ("aot_joint_graph",),
    "forward": ("aot_forward_graph", "aot_inference_graph"),
    "backward": ("aot_backward_graph",),
    "post_grad": ("inductor_post_grad_graph",),
}
_TITLES = {
    "dynamo": "Dynamo graph",
    "pre_grad": "Graph after the pre-grad passes",
    "joint": "Joint graph",
    "forward": "Forward graph",
    "backward": "Backward graph",
    "post_grad": "Graph after the post-grad passes",
}
# the escape \x1b[31m for a colour, if PyTorch prints to a terminal
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
#  # graph id: 140192786837264
_GRAPH_ID = re.compile(r"\n+ ?# graph id: \d+\s*$")


def read_graphs(trace: Trace, stage: str) -> tuple[Graph, ...]:
    """Return all graphs of one stage, in the order in which they were made."""
    events = [event for event in select_events(trace) if event.name in EVENTS[stage]]
    return tuple(
        graph_from_text(
            e.payload, stage, i, title=_make_title(stage, i, len(events)), compile_id=e.compile_id
        )
        for i, e in enumerate(events)
    )


def select_events(trace: Trace) -> Iterator[Event[Any]]:
    """Yield the events of the graphs of all stages. If Dynamo restarted a compile after it had made
    a graph, only those of the last attempt are returned: nothing runs the earlier ones.
    """
    last = {e.compile_id: e.attempt for e in trace.select(*EVENTS["dynamo"])}
    for event in trace.select(*chain.from_iterable(EVENTS.values())):
        if event.attempt >= last.get(event.compile_id, 0):
            yield event


def graph_from_text(
    text: str, stage: str, index: int = 0, *, title: str = "", compile_id: str = ""
) -> Graph:
    """Build a Graph from the text that ``GraphModule.print_readable`` prints. Each line and each
    node has two keys, one for the user's line and one for the node.
    """
    text = _strip_terminal_noise(text)
    parsed = printed_graph.parse(text)
    key = partial(links.node_key, stage, index)
    nodes = tuple(
        replace(n, keys=_python_and_node_key(key(n.name), n.source)) for n in parsed.nodes
    )
    return Graph(
        title=title or _make_title(stage, index, 1),
        name=_name(stage, index),
        stage=stage,
        code=scrub(text),
        nodes=nodes,
        compile_id=compile_id,
        links=_links_by_line(parsed, key),
    )


def list_graph(text: str, stage: str) -> tuple[Listing, dict[int, SourceLine]]:
    """Return the text that ``GraphModule.print_readable`` prints as a listing, each line linked to
    the user's line, and the user's lines by the numbers of the listing's lines. The nodes are not
    read, which makes this much faster than `graph_from_text`.
    """
    text = _strip_terminal_noise(text)
    sources = dict(printed_graph.read_sources(text))
    keys = {line: _python_and_node_key("", source) for line, source in sources.items()}
    listing = Listing(
        _make_title(stage, 0, 1), _name(stage, 0), scrub(text), "python", stage, links=keys
    )
    return listing, sources


def graph_from_module(
    module: torch.fx.GraphModule, stage: str = "dynamo", title: str = ""
) -> Graph:
    """Build a Graph from a GraphModule: op, inputs and names come from its nodes, not its text."""
    text = module.print_readable(
        print_output=False, include_stride=True, include_device=True, expanded_def=False
    )
    graph = graph_from_text(text, stage, title=title or type(module).__name__)
    printed = {n.name: n for n in graph.nodes}
    nodes = tuple(_complete_node(n, printed.get(n.name)) for n in module.graph.nodes)
    return replace(graph, nodes=nodes)


def _complete_node(node: torch.fx.Node, printed: Node | None) -> Node:
    """Return the printed node with op, target and inputs taken from the real node."""
    known = printed or Node(node.name, node.op, getattr(node.target, "__name__", ""))
    target = node.target if isinstance(node.target, str) else known.target
    names = tuple(n.name for n in node.all_input_nodes)
    return replace(known, op=node.op, target=target, inputs=names)


def _strip_terminal_noise(text: str) -> str:
    """Remove terminal colours, and the id() that ends some graphs."""
    return _GRAPH_ID.sub("", _COLOUR.sub("", text)).strip("\n") + "\n"


def _links_by_line(parsed_graph: printed_graph.ParsedGraph, key: NodeKey) -> dict[int, links.Keys]:
    keys = {}
    for line in sorted(parsed_graph.lines.keys() | parsed_graph.sources.keys()):
        name = parsed_graph.lines.get(line)
        keys[line] = _python_and_node_key(key(name) if name else "", parsed_graph.sources.get(line))
    return keys


def _python_and_node_key(node_key: str, source: SourceLine | None) -> links.Keys:
    python = links.python_key(source.file, source.line) if source else ""
    return tuple(key for key in (python, node_key) if key)


def _name(stage: str, index: int) -> str:
    if stage == "dynamo":
        return f"graph-{index}"
    plain = stage.replace("_", "-")
    return f"{plain}-{index}" if index else plain


def _make_title(stage: str, index: int, count: int) -> str:
    title = _TITLES.get(stage, stage)
    return f"{title} {index}" if stage == "dynamo" or count > 1 else title
