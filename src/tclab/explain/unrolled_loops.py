"""Find the loops of Python of which Dynamo put every round into a graph."""

from __future__ import annotations

import linecache
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from tclab.explain import source
from tclab.findings.evidence import UnrolledLoop
from tclab.model import Graph, Node, SourceLine
from tclab.text.loops import list_outermost_loops


def find(graphs: Sequence[Graph]) -> tuple[UnrolledLoop, ...]:
    """Return the loops around the lines of Dynamo's graphs, each with the operators that come from
    its own lines. Lines of functions that it calls are not counted.
    """
    paths = source.files()
    return tuple(loop for graph in graphs for loop in _find_in_graph(graph, paths))


def _find_in_graph(graph: Graph, paths: dict[str, str]) -> Iterator[UnrolledLoop]:
    by_file: dict[str, list[tuple[SourceLine, Node]]] = defaultdict(list)
    for node in graph.nodes:
        if node.source and node.op.startswith("call_"):
            by_file[node.source.file].append((node.source, node))
    for file, placed in by_file.items():
        text = linecache.getlines(paths.get(file, ""))
        for span in list_outermost_loops("".join(text)):
            inside = [(at, node) for at, node in placed if span.first <= at.line <= span.last]
            if inside:
                line = SourceLine(
                    file, span.first, text[span.first - 1].strip(), inside[0][0].function
                )
                yield UnrolledLoop(
                    line, _most_often(inside), len(inside), len(graph), graph.compile_id
                )


def _most_often(inside: Sequence[tuple[SourceLine, Node]]) -> int:
    """Return how often Dynamo traced most operators of a loop."""
    times = Counter((at.line, node.target) for at, node in inside).values()
    weights = Counter[int]()
    for count in times:
        weights[count] += count
    return weights.most_common(1)[0][0]
