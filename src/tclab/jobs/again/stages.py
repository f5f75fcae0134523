"""Link the stages of a graph that was compiled again to the lines of the job."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from tclab.capturing.read.graphs import graph_from_text
from tclab.jobs.again.graphs import TracedGraph
from tclab.jobs.stages import link_panes
from tclab.model import UNREADABLE, Chain, Listing, SourceLine, decode, links

_STAGE = "post_grad"


def link_to_lines(data: Any, graph: TracedGraph) -> Chain:
    """Return the stages that the process wrote, linked to the lines that the trace names. It has no
    panes if the process wrote none.
    """
    try:
        chain = decode(data) if data else None
    except UNREADABLE:
        chain = None
    if not isinstance(chain, Chain):
        return Chain("", "chain")
    sources = dict(_read_sources(graph))
    panes = [_add_lines(pane, sources) for pane in chain.panes]
    lines = {(line.file, line.line): line for line in sources.values()}
    return replace(chain, panes=link_panes(panes, lines), compile_id=graph.compile_id)


def _read_sources(graph: TracedGraph) -> Iterator[tuple[str, SourceLine]]:
    """Yield (key of a node, its line). The graph was printed before and after Inductor's passes."""
    for text in (graph.question.graph, graph.lowered):
        for node in graph_from_text(text, _STAGE).nodes if text else ():
            if node.source and node.op != "placeholder":
                yield links.node_key(_STAGE, 0, node.name), node.source


def _add_lines(pane: Listing, sources: Mapping[str, SourceLine]) -> Listing:
    """Return the pane of the graph with a link from each node to its line; other panes stay."""
    if pane.stage != _STAGE:
        return pane
    of_lines = {
        number: tuple(
            links.python_key(sources[key].file, sources[key].line) for key in keys if key in sources
        )
        for number, keys in pane.marks.items()
    }
    return replace(pane, links={number: keys for number, keys in of_lines.items() if keys})
