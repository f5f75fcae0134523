"""A table as a reference: each row is an entry with a name, an id, and where the book shows it.

Without JavaScript it is a plain table. With it there is a field above that filters the rows, and
of a long table all but the first rows are text, in `<noscript>`, until somebody is there. The
widths of its columns are known from its texts, so that a browser need not lay out thousands of
rows to find them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tclab.render import parts
from tclab.render.escape import NOTHING, Html, breakable, esc, identifier, join, markup, tag
from tclab.render.kinds.table import cells
from tclab.render.options import commit_url

if TYPE_CHECKING:
    from tclab.model import Table

#: A place in the source of PyTorch: ``torch/_decomp/decompositions.py:219``.
_PLACE = re.compile(r"torch/[\w/]+\.py:\d+")
#: Characters of a column: its widest cells wrap, its narrowest still holds a word; one that few
#: rows fill is not wide, and of a word so many stand in a line on any screen that has columns.
_NARROWEST, _WIDEST, _SPARSE, _WORD = 9, 60, 18, 13
#: Characters that the padding of a cell is as wide as.
_PADDING = 3
#: Names up to this length stay in one piece.
_SHORT = 16
#: Rows that are elements from the start, where there are more than twice as many.
_AT_ONCE = 50
#: Characters of a cell's line where a row is a block, on a phone.
_PHONE = 22
_BREAKS = re.compile(r"(?<=[a-z0-9])([._])(?=[A-Za-z0-9])")

Link = tuple[str, str]  # address, words


@dataclass(frozen=True)
class Extra:
    """What a page knows of entries: versions that have each, where it is shown, how often."""

    versions: Mapping[str, str] = field(default_factory=dict)
    shown: Mapping[str, Sequence[Link]] = field(default_factory=dict)
    weights: Mapping[str, int] = field(default_factory=dict)
    torch_git: str = ""


def anchor(table: Table, name: str) -> Html:
    """The id of an entry: the table's name and its own."""
    return identifier(f"{table.name}-{name}")


def html(table: Table, extra: Extra) -> Html:
    """The table, its first column the names, with columns for versions and for links if any."""
    head = [*table.columns]
    head += ["in PyTorch"] if any(extra.versions.values()) else []
    head += ["shown in"] if extra.shown else []
    widths = _widths(head, table, extra)
    ordered = sorted(cells(table), key=lambda row: _rank(row[0], extra))
    rows = [_row(table, row, dict(zip(head, widths)), extra) for row in ordered]
    style = _columns(head, widths)
    first = len(rows) if len(rows) <= 2 * _AT_ONCE else _AT_ONCE
    tables = [_table(head, rows[:first], style)]
    if rows[first:]:
        tables.append(tag("noscript", _table(head, rows[first:], style)))
    inner = parts.scroll(join(tables), table.title, search=False)
    return tag("div", inner, class_="tclab-entries", data_label=table.title)


def _rank(name: str, extra: Extra) -> tuple[int, bool]:
    """Where it stands: first what the book shows most, then the others, private ones last."""
    return -extra.weights.get(name, 0), name.rpartition(".")[2].startswith("_")


def _table(head: Sequence[str], rows: Sequence[Html], style: str) -> Html:
    names = tag("tr", *(tag("th", esc(name), scope="col") for name in head))
    return tag("table", tag("thead", names), tag("tbody", *rows), class_="tclab-table", style=style)


def _widths(head: Sequence[str], table: Table, extra: Extra) -> list[int]:
    """Characters of each column, its share of the width."""
    texts = dict(zip(table.columns, zip(*cells(table))))
    names = texts.get(table.columns[0], ())
    texts["in PyTorch"] = tuple(extra.versions.get(name, "") for name in names)
    texts["shown in"] = tuple(
        "\n".join(words for _, words in extra.shown.get(name, ())) for name in names
    )
    return [_width(name, texts.get(name, ())) for name in head]


def _columns(head: Sequence[str], widths: Sequence[int]) -> str:
    """The columns' shares of the width, and what a screen too narrow for columns writes before the
    cells of each, as a style.
    """
    first, *others = widths  # a short name stays in one piece
    tracks = f"minmax({0.6 * min(first, _SHORT) + 1.8:.1f}em,{first + _PADDING}fr)"
    least = ((0.55 * min(width, _WORD) + 1.6, width + _PADDING) for width in others)
    tracks += "".join(f" minmax({em:.1f}em,{share}fr)" for em, share in least)
    names = "".join(f";--h{i}:{json.dumps(name)}" for i, name in enumerate(head[1:], 2))
    return f"--cols:{tracks}{names}"


def _width(name: str, texts: Sequence[str]) -> int:
    """Characters that a column gets, after its heading and the longest line of each text: of three
    of four, and not many where most rows have none.
    """
    some = [text for text in texts if text not in ("", "–")]
    lengths = sorted(max(map(len, _visible(text).split("\n"))) for text in some)
    most = lengths[len(lengths) * 3 // 4] if lengths else 0
    widest = _WIDEST if 2 * len(some) >= len(texts) else _SPARSE
    return min(widest, max(_NARROWEST, len(name), most))


def _visible(text: str) -> str:
    """What is seen of a cell: of a place its file and line."""
    return text.rsplit("/", 1)[-1] if _PLACE.fullmatch(text) else text


def _row(table: Table, row: Sequence[str], widths: Mapping[str, int], extra: Extra) -> Html:
    name, *rest = row
    others = [_cell(text, extra.torch_git) for text in rest]
    links = extra.shown.get(name, ())
    if "in PyTorch" in widths:
        others.append(esc(extra.versions.get(name, "")))
    if "shown in" in widths:
        pages = (tag("a", esc(words), href=href) for href, words in links)
        others.append(join(pages, markup("<br>")))
    first = tag("code", _name(name))
    cells = [markup("<td>{}", cell) for cell in (first, *others)]  # its end tag may be left out
    chars = list(widths.values())
    linked = _lines(["\n".join(words for _, words in links)], chars[-1:])
    # A link's line is a quarter higher.
    lines = max(_lines(row, chars[: len(row)]), linked + (linked + 2) // 4)
    height = f"--lines:{lines};" if lines > 1 else ""
    tall = sum(_lines([text], [_PHONE]) for text in row) + 2 * len(links)
    return tag("tr", *cells, id=anchor(table, name), style=f"{height}--tall:{tall}")


def _lines(texts: Sequence[str], widths: Sequence[int]) -> int:
    """Lines of the highest of these cells, for a browser that has not laid the row out yet."""
    return max(
        sum(-(-max(len(line), 1) // width) for line in _visible(text).split("\n"))
        for text, width in zip(texts, widths, strict=True)
    )


def _name(name: str) -> Html:
    """A name that may be broken where its parts end, if it is long."""
    return breakable(name, parts.INNER_UNDERSCORES, _BREAKS) if len(name) > _SHORT else esc(name)


def _cell(text: str, git: str) -> Html:
    """A place as a link to PyTorch's repository; lines that begin with a dash as a list, those of a
    log one under the other.
    """
    if text == "–":
        return NOTHING
    if _PLACE.fullmatch(text):
        path, _, line = text.rpartition(":")
        short = f"{path.rsplit('/', 1)[1]}:{line}"
        url = commit_url(git, path, int(line))
        return tag("a", esc(short), href=url, title=text) if url else esc(text)
    if text.startswith("- "):
        items = (tag("li", parts.prose(item)) for item in text.removeprefix("- ").split("\n- "))
        return tag("ul", *items)
    if "\n" in text:
        return tag("pre", tag("code", esc(text)), class_="tclab-lines")
    return parts.prose(text)
