"""Code of which a part is shown and the rest folded, each line under its own anchor."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tclab.render import highlight, parts
from tclab.render.escape import Html, clean, tag

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tclab.render.options import Options

#: First and last line, both within.
Range = tuple[int, int]

#: Fewer lines than this are not worth a fold.
LEAST = 4


def cut(first: int, last: int, focus: Sequence[Range]) -> list[tuple[int, int, bool]]:
    """(first, last, whether it is shown) of the parts from `first` to `last`.

    `focus` has ranges in order. Gaps of fewer than LEAST lines are shown with their neighbours.
    """
    visible: list[Range] = []
    for start, end in focus:
        before = visible[-1][1] if visible else first - 1
        near = start - before - 1 < LEAST
        if near and visible:
            visible[-1] = (visible[-1][0], end)
        else:
            visible.append((first if near else start, end))
    if visible and last - visible[-1][1] < LEAST:
        visible[-1] = (visible[-1][0], last)
    return list(_alternate(first, last, visible))


def _alternate(first: int, last: int, visible: Sequence[Range]) -> Iterator[tuple[int, int, bool]]:
    at = first
    for a, b in visible:
        if at < a:
            yield at, a - 1, False
        yield a, b, True
        at = b + 1
    if at <= last:
        yield at, last, False


def html(
    code: str,
    language: str,
    options: Options,
    focus: Sequence[Range],
    *,
    first_line: int = 1,
    numbers: bool = False,
    label: str = "",
    stage: str = "",
) -> Html:
    """The code; what is outside `focus` (numbers as shown) is folded."""
    lines = clean(code).removesuffix("\n").split("\n")
    pieces = []
    for first, last, visible in cut(first_line, first_line + len(lines) - 1, focus):
        start = first - first_line
        body = highlight.block(
            "\n".join(lines[start : last - first_line + 1]) + "\n", language, options,
            first_line=first, numbers=numbers, label=label, stage=stage,
        )  # fmt: skip
        pieces.append(body if visible else parts.fold(_which(first, last), body))
    if len(pieces) == 1:
        return pieces[0]
    return tag("div", *pieces, class_="tclab-excerpt no-copy")  # not a part of it


def _which(first: int, last: int) -> str:
    return f"line {first}" if first == last else f"lines {first}–{last}"


def function(code: str, name: str) -> list[Range]:
    """Where the function `name` of a Python file stands, its decorators left out."""
    try:
        body = ast.parse(code).body
    except (SyntaxError, ValueError):  # not Python after all, or with a null in it
        return []
    return [
        (node.lineno, node.end_lineno or node.lineno)
        for node in body
        if isinstance(node, ast.FunctionDef) and node.name == name
    ]
