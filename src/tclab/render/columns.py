"""Aligned text tables for a terminal; standard library only."""

from __future__ import annotations

import textwrap
import unicodedata
from typing import TYPE_CHECKING

from tclab.model import SourceLine
from tclab.render.escape import clean

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

WIDTH = 100
_GAP = "  "
_NARROWEST = 8


def width(text: str) -> int:
    """Columns that `text` takes in a terminal."""
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    none = sum(unicodedata.category(c) in ("Mn", "Me", "Cf") for c in text)
    return len(text) + wide - none


def wrap(text: str, columns: int) -> list[str]:
    """`text` in lines of at most `columns`; words that are longer are cut."""
    out: list[str] = []
    for line in clean(text).expandtabs(4).split("\n"):
        out += textwrap.wrap(line, columns) or [""]
    return [piece for line in out for piece in _cut(line, columns)]


def _cut(line: str, columns: int) -> list[str]:
    """Pieces of a line that is wider than its characters are many."""
    pieces, current, used = [], "", 0
    for c in line:
        if used + width(c) > columns and current:
            pieces.append(current)
            current, used = "", 0
        current += c
        used += width(c)
    return [*pieces, current]


def indent(text: str, by: str = "  ") -> str:
    """Every line of `text` behind `by`."""
    return "\n".join(by + line for line in clean(text).split("\n"))


def paragraph(text: str, first: str = "", rest: str = "  ", columns: int = WIDTH) -> str:
    """`text` wrapped; its first line behind `first`, the others behind `rest`."""
    inner = wrap(text, columns - max(width(first), width(rest)))
    return "\n".join((first if i == 0 else rest) + line for i, line in enumerate(inner))


def _fit(natural: list[int], columns: int) -> list[int]:
    """Widths that add up to at most `columns`, taken from the widest columns first."""
    widths = list(natural)
    room = columns - len(_GAP) * (len(widths) - 1)
    while sum(widths) > room and max(widths) > _NARROWEST:
        widest = max(range(len(widths)), key=lambda i: widths[i])
        widths[widest] -= 1
    return widths


def _pad(text: str, columns: int, right: bool) -> str:
    space = " " * max(0, columns - width(text))
    return space + text if right else text + space


def _row(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> list[str]:
    wrapped = [wrap(cell, w) for cell, w in zip(cells, widths, strict=True)]
    out = []
    for i in range(max(map(len, wrapped))):
        parts = (w[i] if i < len(w) else "" for w in wrapped)
        line = _GAP.join(_pad(*each) for each in zip(parts, widths, right, strict=True))
        out.append(line.rstrip())
    return out


def table(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    right: Sequence[bool] = (),
    columns: int = WIDTH,
) -> str:
    """Columns under `head`, in at most `columns`; long cells wrap. `right` aligns numbers."""
    if not head:
        return ""
    rows = [[clean(cell) for cell in row] for row in rows]
    right = [*right, *[False] * len(head)][: len(head)]
    natural = [max(_widest(row[i]) for row in [head, *rows]) for i in range(len(head))]
    widths = _fit([max(1, n) for n in natural], columns)
    out = _row(head, widths, right)
    out.append(_GAP.join("─" * w for w in widths))
    for row in rows:
        out += _row(row, widths, right)
    return "\n".join(out)


def _widest(cell: str) -> int:
    return max(width(line) for line in clean(cell).expandtabs(4).split("\n"))


def heading(title: str, note: str = "") -> str:
    """A title over its artifact."""
    title = " ".join(clean(title).split())
    line = f"{title}: {note}" if title and note else title or note
    return paragraph(line) if line else ""


def place(line: SourceLine | None) -> str:
    """A source line as short as it is still found: the file's own name."""
    return f"{line.file.rsplit('/', 1)[-1]}:{line.line}" if line else "–"


def join(*parts: str) -> str:
    """The parts that are not empty, one under the other."""
    return "\n".join(p for p in parts if p)
