"""Render code with some line ranges shown and the others folded. Each line has an anchor."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tclab.render import highlight, parts
from tclab.render.escape import Html, clean, tag

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tclab.render.options import Options

#: (first, last) line numbers, both inclusive.
Range = tuple[int, int]

#: Fewer lines than this are not folded.
FEWEST_FOLDED = 4


def split_range(first: int, last: int, focus: Sequence[Range]) -> list[tuple[int, int, bool]]:
    """Split the lines from `first` to `last` into parts: (first line, last line, whether the part
    is shown).

    The ranges of `focus`, in order, are shown. Gaps of fewer than FEWEST_FOLDED lines are shown,
    too.
    """
    visible: list[Range] = []
    for start, end in focus:
        previous_end = visible[-1][1] if visible else first - 1
        is_near = start - previous_end - 1 < FEWEST_FOLDED
        if is_near and visible:
            visible[-1] = (visible[-1][0], end)
        else:
            visible.append((first if is_near else start, end))
    if visible and last - visible[-1][1] < FEWEST_FOLDED:
        visible[-1] = (visible[-1][0], last)
    return list(_alternate(first, last, visible))


def _alternate(first: int, last: int, visible: Sequence[Range]) -> Iterator[tuple[int, int, bool]]:
    next_line = first
    for start, end in visible:
        if next_line < start:
            yield next_line, start - 1, False
        yield start, end, True
        next_line = end + 1
    if next_line <= last:
        yield next_line, last, False


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
    """Return the code as HTML, with the lines outside of `focus` folded. `focus` has ranges of line
    numbers, counted from `first_line`.
    """
    lines = clean(code).removesuffix("\n").split("\n")
    pieces = []
    for first, last, is_visible in split_range(first_line, first_line + len(lines) - 1, focus):
        offset = first - first_line
        body = highlight.block(
            "\n".join(lines[offset : last - first_line + 1]) + "\n", language, options,
            first_line=first, numbers=numbers, label=label, stage=stage,
        )  # fmt: skip
        pieces.append(body if is_visible else parts.fold(_range_text(first, last), body))
    if len(pieces) == 1:
        return pieces[0]
    return tag(
        "div", *pieces, class_="tclab-excerpt no-copy"
    )  # without a copy button, which would copy only one piece


def _range_text(first: int, last: int) -> str:
    return f"line {first}" if first == last else f"lines {first}–{last}"


def find_function(code: str, name: str) -> list[Range]:
    """Return the line ranges of the top-level functions `name`, without decorators; [] if the code
    is no Python.
    """
    try:
        body = ast.parse(code).body
    except (SyntaxError, ValueError):  # not Python, or with a null character
        return []
    return [
        (node.lineno, node.end_lineno or node.lineno)
        for node in body
        if isinstance(node, ast.FunctionDef) and node.name == name
    ]
