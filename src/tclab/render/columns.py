"""Format text for a terminal: tables, wrapped paragraphs, headings. This module needs only the
standard library.
"""

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
    """Return the columns that `text` occupies in a terminal."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    zero_width = sum(unicodedata.category(character) in ("Mn", "Me", "Cf") for character in text)
    return len(text) + wide - zero_width


def wrap(text: str, columns: int) -> list[str]:
    """Wrap `text` into lines of at most `columns`; longer words are cut."""
    lines_out: list[str] = []
    for line in clean(text).expandtabs(4).split("\n"):
        lines_out += textwrap.wrap(line, columns) or [""]
    return [piece for line in lines_out for piece in _cut_wide_line(line, columns)]


def _cut_wide_line(line: str, columns: int) -> list[str]:
    """Cut a line into pieces of at most `columns`; some characters are two columns wide."""
    pieces, current, used = [], "", 0
    for character in line:
        if used + width(character) > columns and current:
            pieces.append(current)
            current, used = "", 0
        current += character
        used += width(character)
    return [*pieces, current]


def indent(text: str, prefix: str = "  ") -> str:
    """Put `prefix` before every line of `text`."""
    return "\n".join(prefix + line for line in clean(text).split("\n"))


def paragraph(
    text: str, first_prefix: str = "", other_prefix: str = "  ", columns: int = WIDTH
) -> str:
    """Wrap `text`; put `first_prefix` before its first line, `other_prefix` before the others."""
    inner = wrap(text, columns - max(width(first_prefix), width(other_prefix)))
    prefixes = [first_prefix] + [other_prefix] * len(inner)
    return "\n".join(prefix + line for prefix, line in zip(prefixes, inner))


def _fit_widths(natural_widths: list[int], columns: int) -> list[int]:
    """Shrink the widest columns until the widths fit into `columns`, as far as possible."""
    widths = list(natural_widths)
    available = columns - len(_GAP) * (len(widths) - 1)
    while sum(widths) > available and max(widths) > _NARROWEST:
        widest = max(range(len(widths)), key=lambda index: widths[index])
        widths[widest] -= 1
    return widths


def _pad(text: str, columns: int, right: bool) -> str:
    space = " " * max(0, columns - width(text))
    return space + text if right else text + space


def _table_row(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> list[str]:
    wrapped = [wrap(cell, column_width) for cell, column_width in zip(cells, widths, strict=True)]
    lines_out = []
    for index in range(max(map(len, wrapped))):
        parts = (
            column_width[index] if index < len(column_width) else "" for column_width in wrapped
        )
        line = _GAP.join(_pad(*aligned) for aligned in zip(parts, widths, right, strict=True))
        lines_out.append(line.rstrip())
    return lines_out


def table(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    right: Sequence[bool] = (),
    columns: int = WIDTH,
) -> str:
    """Return a table under `head`, at most `columns` wide. Long cells wrap; `right` says which
    columns are right-aligned.
    """
    if not head:
        return ""
    rows = [[clean(cell) for cell in row] for row in rows]
    right = [*right, *[False] * len(head)][: len(head)]
    natural_widths = [
        max(_widest_line(row[index]) for row in [head, *rows]) for index in range(len(head))
    ]
    widths = _fit_widths([max(1, n) for n in natural_widths], columns)
    lines_out = _table_row(head, widths, right)
    lines_out.append(_GAP.join("─" * w for w in widths))
    for row in rows:
        lines_out += _table_row(row, widths, right)
    return "\n".join(lines_out)


def _widest_line(cell: str) -> int:
    return max(width(line) for line in clean(cell).expandtabs(4).split("\n"))


def heading(title: str, note: str = "") -> str:
    """Return the heading of an artifact: the title and a note."""
    title = " ".join(clean(title).split())
    line = f"{title}: {note}" if title and note else title or note
    return paragraph(line) if line else ""


def place_text(line: SourceLine | None) -> str:
    """Return a source line as ``file:line``, without the file's folder; a dash for None."""
    return f"{line.file.rsplit('/', 1)[-1]}:{line.line}" if line else "–"


def join(*parts: str) -> str:
    """Join the parts that are not empty by newlines."""
    return "\n".join(part for part in parts if part)
