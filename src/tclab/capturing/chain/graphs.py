"""Panes of Python, bytecode and FX graphs."""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from tclab.capturing.chain.resolve import Keys, Notes, Shown, joined, of_torch, python_keys
from tclab.capturing.read import bytecode, frames, printed_graph
from tclab.capturing.trace.events import Trace
from tclab.model import Graph, Listing, slug
from tclab.scrub import scrub

Lines = dict[int, Keys]


def graph_pane(graph: Graph, index: int, notes: Notes) -> Listing:
    """A graph as it is shown, each node linked to what it was made from."""
    links: Lines = {}
    marks: Lines = {}
    shown = notes.shown.get((graph.stage, index))
    origins = _origins(shown, notes) if shown else {}
    for line, name in _lines(graph, shown):
        marks[line] = (*marks.get(line, ()), f"fx:{graph.stage}:{index}:{name}")
        if keys := origins.get(name, ()):
            links[line] = joined((links.get(line, ()), keys))
    return Listing(graph.title, graph.name, graph.code, "python", graph.stage,
                   links=links, marks=marks)  # fmt: skip


def _lines(graph: Graph, shown: Shown | None) -> list[tuple[int, str]]:
    """Line and name of each node. Several inputs may stand on one line."""
    found = {name: line for line, name in printed_graph.parse(graph.code).lines.items()}
    lines = graph.code.splitlines()
    for node in shown.note.nodes if shown else ():
        if node.name not in found and node.op == "placeholder":
            # def forward(self, s77: "Sym(s77)", L_x_: "f32[s77, 4][4, 1]cpu"):
            declared = re.compile(rf"\b{re.escape(node.name)}\s*[:,)]")
            at = [n for n, text in enumerate(lines, 1) if declared.search(text)]
            found |= dict.fromkeys([node.name] if at else [], min(at, default=0))
    return [(line, name) for name, line in found.items()]


def _origins(shown: Shown, notes: Notes) -> dict[str, Keys]:
    """Dynamo's nodes come from lines and instructions; others from nodes, else from lines."""
    parents = notes.parents(shown)
    found = {}
    for node in shown.note.nodes:
        if shown.stage == "dynamo":
            at = () if node.offset is None else (f"bc:{shown.compile_id}:{node.offset}",)
            found[node.name] = python_keys(node.stack) + at
        else:
            found[node.name] = parents[node.name] or python_keys(node.stack)
    return found


# ------------------------------------------------------------------------------ bytecode


def bytecode_panes(trace: Trace, listings: tuple[Listing, ...], compile_id: str) -> list[Listing]:
    """The original bytecode of a compile, each instruction marked with its offset."""
    panes = []
    for index, event in enumerate(trace.named("bytecode")):
        if event.compile_id == compile_id:
            original = listings[2 * index]
            shown = bytecode.shown_instructions(original.code, event.data[0])
            marks = {line: (f"bc:{compile_id}:{i.offset}",) for line, i in shown}
            panes.append(replace(original, marks=marks))
    return panes[-1:]  # an earlier one is of an attempt that was given up


# ------------------------------------------------------------------------------ Python


def python_panes(stacks: Iterable[str], used: set[str]) -> list[Listing]:
    """The functions that lines of these stacks are in, whole, in the order they are met.

    `used` are the keys other panes link to; only those lines are marked.
    """
    panes: dict[tuple[str, int], Listing] = {}
    for file, line in _places(stacks):
        if any(_holds(pane, scrub(file), line) for pane in panes.values()):
            continue
        first, last, name = _function(file, line)
        code = "".join(linecache.getlines(file)[first - 1 : last])
        if code:
            panes[file, first] = _python(file, first, code, name, used)
    return list(panes.values())


def _places(stacks: Iterable[str]) -> Iterator[tuple[str, int]]:
    """File and line of the user's lines, as `user_lines` picks them."""
    for stack in dict.fromkeys(stacks):
        places = frames.printed_places(stack)
        yield from [p for p in places if not of_torch(scrub(p[0]))] or places


def _holds(pane: Listing, file: str, line: int) -> bool:
    last = pane.first_line + pane.code.count("\n")
    return pane.filename == file and pane.first_line <= line < last


def _python(file: str, first: int, code: str, name: str, used: set[str]) -> Listing:
    shown = scrub(file)
    code = code if code.endswith("\n") else code + "\n"
    keys = ((n, f"py:{shown}:{first + n - 1}") for n in range(1, code.count("\n") + 1))
    marks = {number: (key,) for number, key in keys if key in used}
    title = f"{name} in {shown}"
    return Listing(title, f"python-{slug(name)}-{first}", code, "python", "python", shown, first,
                   marks=marks)  # fmt: skip


def _function(file: str, line: int) -> tuple[int, int, str]:
    """First line, last line and name of the outermost function around a line; without one, of
    the statement.
    """
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return line, line, "line"
    body: list[ast.stmt] = tree.body
    path: list[str] = []
    while True:
        around = next((s for s in body if s.lineno <= line <= (s.end_lineno or s.lineno)), None)
        if isinstance(around, ast.ClassDef):
            body = around.body
            path.append(around.name)
            continue
        return _span(around, line, path)


def _span(around: ast.stmt | None, line: int, path: list[str]) -> tuple[int, int, str]:
    if isinstance(around, (ast.FunctionDef, ast.AsyncFunctionDef)):
        decorators = [d.lineno for d in around.decorator_list]
        name = ".".join([*path, around.name])
        return min([around.lineno, *decorators]), around.end_lineno or line, name
    if around is None:
        return line, line, ".".join(path) or "line"
    return around.lineno, around.end_lineno or line, ".".join(path) or "line"
