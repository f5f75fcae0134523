"""Panes of Python, bytecode and FX graphs."""

from __future__ import annotations

import linecache
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from tclab import spans, user_lines
from tclab.capturing.chain.resolve import Origins, ShownGraph, python_keys
from tclab.capturing.read import frames
from tclab.capturing.read.bytecode import Rewritten
from tclab.capturing.trace.notes import NodeNote
from tclab.model import Graph, Listing, links, slug, source_lines
from tclab.scrub import scrub
from tclab.spans import Span

LineKeys = dict[int, links.Keys]


def graph_pane(graph: Graph, index: int, origins: Origins) -> Listing:
    """A graph as it is shown, each node linked to what it was made from."""
    above: LineKeys = {}
    marks: LineKeys = {}
    shown_graph = origins.shown_graphs.get((graph.stage, index))
    of_nodes = _origins(shown_graph, origins) if shown_graph else {}
    for line, name in _lines(graph, shown_graph):
        marks[line] = (*marks.get(line, ()), links.node(graph.stage, index, name))
        if keys := of_nodes.get(name, ()):
            above[line] = links.joined((above.get(line, ()), keys))
    return Listing(
        graph.title, graph.name, graph.code, "python", graph.stage, links=above, marks=marks
    )


def _lines(graph: Graph, shown_graph: ShownGraph | None) -> list[tuple[int, str]]:
    """Line and name of each node. Several inputs may stand on one line."""
    marked = {key: line for line, keys in graph.links.items() for key in keys}
    names = {node.name: node.keys[-1] for node in graph.nodes if node.keys}
    places = {name: marked[key] for name, key in names.items() if key in marked}
    inputs = shown_graph.inputs if shown_graph else ()
    if any(name not in places for name in inputs):
        declared = _declared(graph.code)
        places |= {n: declared[n] for n in inputs if n not in places and n in declared}
    return [(line, name) for name, line in places.items()]


# def forward(self, s77: "Sym(s77)", L_x_: "f32[s77, 4][4, 1]cpu"):
_DECLARED = re.compile(r"\b(\w+)\s*[:,)]")


def _declared(code: str) -> dict[str, int]:
    """The first line on which each name stands as an argument may. A model has thousands."""
    lines: dict[str, int] = {}
    for number, text in enumerate(source_lines(code), 1):
        for name in _DECLARED.findall(text):
            lines.setdefault(name, number)
    return lines


def _origins(shown_graph: ShownGraph, origins: Origins) -> dict[str, links.Keys]:
    """Dynamo's nodes come from lines and instructions; others from nodes, else from lines."""
    nodes = shown_graph.note.nodes
    if shown_graph.stage == "dynamo":
        return {n.name: python_keys(n.stack) + _instruction(shown_graph, n) for n in nodes}
    parents = origins.parents(shown_graph)
    return {node.name: parents[node.name] or python_keys(node.stack) for node in nodes}


def _instruction(shown_graph: ShownGraph, node: NodeNote) -> links.Keys:
    """The key of the instruction that Dynamo was at when it made a node."""
    return () if node.offset is None else (links.bytecode(shown_graph.compile_id, node.offset),)


# ------------------------------------------------------------------------------ bytecode


def bytecode_panes(compiles: Iterable[Rewritten], compile_id: str) -> list[Listing]:
    """The original bytecode of a compile, each instruction marked with its offset."""
    own = [each for each in compiles if each.compile_id == compile_id]
    return [_bytecode(each) for each in own[-1:]]  # an earlier one's attempt was given up


def _bytecode(compiled: Rewritten) -> Listing:
    instructions = compiled.instructions()
    marks = {line: (links.bytecode(compiled.compile_id, i.offset),) for line, i in instructions}
    return replace(compiled.original, marks=marks)


# ------------------------------------------------------------------------------ Python


def python_panes(stacks: Iterable[str], used: set[str]) -> list[Listing]:
    """The functions that lines of these stacks are in, whole, in the order they are met.

    `used` are the keys other panes link to; only those lines are marked.
    """
    panes: dict[tuple[str, int], Listing] = {}
    for file, line in _places(stacks):
        if any(_holds(pane, scrub(file), line) for pane in panes.values()):
            continue
        text = linecache.getlines(file)
        (span,) = spans.around("".join(text), [line])
        if code := "".join(text[span.first - 1 : span.last]):
            panes[file, span.first] = _python(file, span, code, used)
    return list(panes.values())


def _places(stacks: Iterable[str]) -> Iterator[tuple[str, int]]:
    """File, not scrubbed, and line of the user's lines."""
    for stack in dict.fromkeys(stacks):
        yield from user_lines.users_or_all(frames.printed_places(stack), lambda place: place[0])


def _holds(pane: Listing, file: str, line: int) -> bool:
    last = pane.first_line + pane.code.count("\n")
    return pane.filename == file and pane.first_line <= line < last


def _python(file: str, span: Span, code: str, used: set[str]) -> Listing:
    place, first, name = scrub(file), span.first, span.name or "line"
    code = code if code.endswith("\n") else code + "\n"
    keys = ((n, links.python(place, first + n - 1)) for n in range(1, code.count("\n") + 1))
    marks = {number: (key,) for number, key in keys if key in used}
    title, ident = f"{name} in {place}", f"python-{slug(name)}-{first}"
    return Listing(title, ident, code, "python", "python", place, first, marks=marks)
