"""Make the panes of Python, bytecode and FX graphs."""

from __future__ import annotations

import linecache
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from tclab.capturing.chain.resolve import Origins, ShownGraph, python_keys
from tclab.capturing.read import frames
from tclab.capturing.read.bytecode import FrameBytecode
from tclab.capturing.trace.notes import NodeNote
from tclab.model import Graph, Listing, links, slug, source_lines
from tclab.text import spans, user_lines
from tclab.text.scrub import scrub
from tclab.text.spans import Span

LineKeys = dict[int, links.Keys]


def graph_pane(graph: Graph, index: int, origins: Origins) -> Listing:
    """Make the pane of a graph. Each node is linked to the nodes or lines from which it was
    made.
    """
    line_links: LineKeys = {}
    marks: LineKeys = {}
    shown_graph = origins.shown_graphs.get((graph.stage, index))
    node_origins = _node_origins(shown_graph, origins) if shown_graph else {}
    for line, name in _node_lines(graph, shown_graph):
        marks[line] = (*marks.get(line, ()), links.node_key(graph.stage, index, name))
        if keys := node_origins.get(name, ()):
            line_links[line] = links.merge_keys((line_links.get(line, ()), keys))
    return Listing(
        graph.title, graph.name, graph.code, "python", graph.stage, links=line_links, marks=marks
    )


def _node_lines(graph: Graph, shown_graph: ShownGraph | None) -> list[tuple[int, str]]:
    """Return the line number and the name of each node. Several inputs can be on one line."""
    marked = {key: line for line, keys in graph.links.items() for key in keys}
    names = {node.name: node.keys[-1] for node in graph.nodes if node.keys}
    lines = {name: marked[key] for name, key in names.items() if key in marked}
    inputs = shown_graph.inputs if shown_graph else ()
    if any(name not in lines for name in inputs):
        argument_lines = _argument_lines(graph.code)
        lines |= {n: argument_lines[n] for n in inputs if n not in lines and n in argument_lines}
    return [(line, name) for name, line in lines.items()]


# def forward(self, s77: "Sym(s77)", L_x_: "f32[s77, 4][4, 1]cpu"):
_DECLARED = re.compile(r"\b(\w+)\s*[:,)]")


def _argument_lines(code: str) -> dict[str, int]:
    """Map each name to the first line that can declare it as an argument."""
    lines: dict[str, int] = {}
    for number, text in enumerate(source_lines(code), 1):
        for name in _DECLARED.findall(text):
            lines.setdefault(name, number)
    return lines


def _node_origins(shown_graph: ShownGraph, origins: Origins) -> dict[str, links.Keys]:
    """Map each node to the keys of its origins. In Dynamo's graph these are Python lines and
    bytecode; in other graphs the earlier nodes, or Python lines if there are none.

    An input has no origin. PyTorch gives it the stack of its first use, but with that, a line that
    only reads a shape would be linked to each load of the tensor.
    """
    nodes = shown_graph.note.nodes
    computing = [node for node in nodes if node.op != "placeholder"]
    if shown_graph.stage == "dynamo":
        return {n.name: python_keys(n.stack) + _instruction_keys(shown_graph, n) for n in computing}
    parents = origins.parents(shown_graph)
    of_lines = {node.name: python_keys(node.stack) for node in computing}
    return {name: keys or of_lines.get(name, ()) for name, keys in parents.items()}


def _instruction_keys(shown_graph: ShownGraph, node: NodeNote) -> links.Keys:
    """Return the key of the bytecode instruction from which Dynamo made a node, if known."""
    return () if node.offset is None else (links.bytecode_key(shown_graph.compile_id, node.offset),)


# ------------------------------------------------------------------------------ bytecode


def bytecode_panes(compiles: Iterable[FrameBytecode], compile_id: str) -> list[Listing]:
    """Make the pane of a compile's original bytecode, each instruction marked with its offset."""
    attempts = [attempt for attempt in compiles if attempt.compile_id == compile_id]
    return [
        _bytecode_pane(attempt) for attempt in attempts[-1:]
    ]  # the last attempt, because Dynamo dropped the earlier ones


def _bytecode_pane(compiled: FrameBytecode) -> Listing:
    instructions = compiled.instructions()
    marks = {line: (links.bytecode_key(compiled.compile_id, i.offset),) for line, i in instructions}
    return replace(compiled.original, marks=marks)


# ------------------------------------------------------------------------------ Python


def python_panes(stacks: Iterable[str], linked_keys: set[str]) -> list[Listing]:
    """Make the panes of the whole functions that contain the lines of these stacks, in order.

    `linked_keys` are the keys to which other panes link; only the lines with these keys are marked.
    """
    panes: dict[tuple[str, int], Listing] = {}
    for file, line in _user_places(stacks):
        if any(_contains_line(pane, scrub(file), line) for pane in panes.values()):
            continue
        text = linecache.getlines(file)
        (span,) = spans.enclosing_functions("".join(text), [line])
        if code := "".join(text[span.first - 1 : span.last]):
            panes[file, span.first] = _function_pane(file, span, code, linked_keys)
    return list(panes.values())


def _user_places(stacks: Iterable[str]) -> Iterator[tuple[str, int]]:
    """Yield (full path, line number) of each of the user's lines in the stacks."""
    for stack in dict.fromkeys(stacks):
        yield from user_lines.select_user_lines_or_all(
            frames.printed_locations(stack), lambda place: place[0]
        )


def _contains_line(pane: Listing, file: str, line: int) -> bool:
    last = pane.first_line + pane.code.count("\n")
    return pane.filename == file and pane.first_line <= line < last


def _function_pane(file: str, span: Span, code: str, linked_keys: set[str]) -> Listing:
    place, first, name = scrub(file), span.first, span.name or "line"
    code = code if code.endswith("\n") else code + "\n"
    keys = ((n, links.python_key(place, first + n - 1)) for n in range(1, code.count("\n") + 1))
    marks = {number: (key,) for number, key in keys if key in linked_keys}
    title, ident = f"{name} in {place}", f"python-{slug(name)}-{first}"
    return Listing(title, ident, code, "python", "python", place, first, marks=marks)
