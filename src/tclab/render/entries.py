"""Draw a table as a reference, in which each row is an entry with a name, an id, and links to
pages.

Without JavaScript the entries are a plain table. With JavaScript a field above the table filters
the rows, and all but the first rows of a long table stay text in `<noscript>` until the reader
scrolls to them. This module computes the widths of the columns from the texts, so that a browser
need not lay out thousands of rows to find them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tclab.render import parts
from tclab.render.escape import NOTHING, Html, allow_breaks, esc, identifier, join, markup, tag
from tclab.render.kinds.table import cell_texts
from tclab.render.options import commit_url

if TYPE_CHECKING:
    from tclab.model import Table

#: A place in the source of PyTorch: ``torch/_decomp/decompositions.py:219``.
_PLACE = re.compile(r"torch/[\w/]+\.py:\d+")
#: Widths in characters: of the narrowest and the widest column, of the widest column with text in
#: few rows, and the width to which a wider column may shrink on a screen that shows columns.
_NARROWEST, _WIDEST, _SPARSE, _WORD = 9, 60, 18, 13
#: The column of links, and the width that they need.
_SHOWN_IN, _LINKS = "shown in", 28
#: The width of a cell's padding in characters.
_PADDING = 3
#: Names up to this length do not break.
_SHORT_NAME = 16
#: Rows that a long table shows at first. A table is long with more than twice as many rows.
_ROWS_AT_FIRST = 50
#: A cell of more than _LONG_CELL characters is placed below its row, across all columns but the
#: first and the links, because in a column it would be as tall as a page. A line there has
#: _LONG_LINE characters.
_LONG_CELL, _LONG_LINE = 50, 80
#: A list of more than _MOST_ITEMS shows its first three, and folds the rest.
_MOST_ITEMS = 4
#: Characters in a line on a phone, where each row is a block.
_PHONE_WIDTH = 22
_BREAK_POINTS = re.compile(r"(?<=[a-z0-9])([._])(?=[A-Za-z0-9])")

Link = tuple[str, str]  # address, words


@dataclass(frozen=True)
class EntryNotes:
    """Notes on entries, by the name of the entry. `versions` names the versions of PyTorch that
    have the entry. `shown` lists links to the pages that show the entry, and `weights` says how
    often the book shows it. `torch_git` is the commit for links into PyTorch.
    """

    versions: Mapping[str, str] = field(default_factory=dict)
    shown: Mapping[str, Sequence[Link]] = field(default_factory=dict)
    weights: Mapping[str, int] = field(default_factory=dict)
    torch_git: str = ""


def entry_id(table: Table, name: str) -> Html:
    """Return the id of an entry: the name of the table and its own name."""
    return identifier(f"{table.name}-{name}")


def html(table: Table, notes: EntryNotes) -> Html:
    """Return the table as HTML. Its first column has the names; columns for versions and links are
    added if there are any.
    """
    head = [*table.columns]
    head += ["in PyTorch"] if any(notes.versions.values()) else []
    head += [_SHOWN_IN] if notes.shown else []
    widths = _choose_widths(head, table, notes)
    sorted_rows = sorted(cell_texts(table), key=lambda row: _sort_key(row[0], notes))
    rows = [_draw_row(table, row, dict(zip(head, widths)), notes) for row in sorted_rows]
    style = _grid_style(head, widths)
    shown_count = len(rows) if len(rows) <= 2 * _ROWS_AT_FIRST else _ROWS_AT_FIRST
    tables = [_draw_table(head, rows[:shown_count], style)]
    if rows[shown_count:]:
        tables.append(tag("noscript", _draw_table(head, rows[shown_count:], style)))
    inner = parts.scroll_box(join(tables), table.title, search=False)
    return tag("div", inner, class_="tclab-entries", data_label=table.title)


def _sort_key(name: str, notes: EntryNotes) -> tuple[int, bool]:
    """Return the sort key of an entry. The entries that the book shows most come first, private
    names last.
    """
    return -notes.weights.get(name, 0), name.rpartition(".")[2].startswith("_")


def _draw_table(head: Sequence[str], rows: Sequence[Html], style: str) -> Html:
    names = tag("tr", *(tag("th", esc(name), scope="col") for name in head))
    return tag("table", tag("thead", names), tag("tbody", *rows), class_="tclab-table", style=style)


def _choose_widths(head: Sequence[str], table: Table, notes: EntryNotes) -> list[int]:
    """Return the width of each column in characters."""
    texts = dict(zip(table.columns, zip(*cell_texts(table))))
    names = texts.get(table.columns[0], ())
    texts["in PyTorch"] = tuple(notes.versions.get(name, "") for name in names)
    texts[_SHOWN_IN] = tuple(
        "\n".join(words for _, words in notes.shown.get(name, ())) for name in names
    )
    return [_column_width(name, texts.get(name, ())) for name in head]


def _grid_style(head: Sequence[str], widths: Sequence[int]) -> str:
    """Return a CSS style with the tracks of the grid, and the column names that a narrow screen
    shows before the cells.
    """
    first, *other_widths = widths  # a short name does not break
    tracks = f"minmax({0.6 * min(first, _SHORT_NAME) + 1.8:.1f}em,{first + _PADDING}fr)"
    least = [_SPARSE if name == _SHOWN_IN else min(width, _WORD)
             for name, width in zip(head[1:], other_widths, strict=True)]  # fmt: skip
    track_sizes = ((0.55 * m + 1.6, width + _PADDING) for m, width in zip(least, other_widths))
    tracks += "".join(f" minmax({em:.1f}em,{share}fr)" for em, share in track_sizes)
    names = "".join(f";--h{i}:{json.dumps(name)}" for i, name in enumerate(head[1:], 2))
    return f"--cols:{tracks}{names}"


def _column_width(name: str, texts: Sequence[str]) -> int:
    """Return the width of a column in characters. The heading fits, and so do the longest lines of
    three texts in four; a long text is below its row. A column with few texts is narrow, but one
    with links.
    """
    texts_present = [text for text in texts if text not in ("", "–") and not _is_long(text)]
    lengths = sorted(max(map(len, _visible_text(text).split("\n"))) for text in texts_present)
    most = lengths[len(lengths) * 3 // 4] if lengths else 0
    widest = _WIDEST if 2 * len(texts_present) >= len(texts) else _SPARSE
    narrowest = _LINKS if name == _SHOWN_IN else max(_NARROWEST, len(name))
    return max(narrowest, min(widest, most))


def _visible_text(text: str) -> str:
    """Return the visible text of a cell; a place shows file name and line only, a long list its
    first items and a fold.
    """
    if text.startswith("- "):
        first, rest = _split_list(text)
        return "\n".join([*first, "more"] if rest else first)
    return text.rsplit("/", 1)[-1] if _PLACE.fullmatch(text) else text


def _draw_row(
    table: Table, row: Sequence[str], widths: Mapping[str, int], notes: EntryNotes
) -> Html:
    name, *rest = row
    other_cells = [_draw_cell(text, notes.torch_git) for text in rest]
    links = notes.shown.get(name, ())
    if "in PyTorch" in widths:
        other_cells.append(esc(notes.versions.get(name, "")))
    if _SHOWN_IN in widths:
        pages = (tag("a", esc(words), href=href) for href, words in links)
        other_cells.append(join(pages, markup("<br>")))
    name_cell = tag("code", _draw_name(name))
    cell_texts = _place_cells([name_cell, *other_cells], row, beside=_SHOWN_IN in widths)
    column_widths = list(widths.values())
    link_lines = _count_lines(["\n".join(words for _, words in links)], column_widths[-1:])
    short = ["" if _is_long(text) else text for text in row]
    # The line of a link is a quarter taller than a line of text.
    lines = _count_lines(short, column_widths[: len(row)])
    lines += sum(_count_lines([text], [_LONG_LINE]) for text in row if _is_long(text))
    lines = max(lines, link_lines + (link_lines + 2) // 4)
    height = f"--lines:{lines};" if lines > 1 else ""
    phone_lines = sum(_count_lines([text], [_PHONE_WIDTH]) for text in row) + 2 * len(links)
    return tag("tr", *cell_texts, id=entry_id(table, name), style=f"{height}--tall:{phone_lines}")


def _place_cells(cells: Sequence[Html], texts: Sequence[str], *, beside: bool) -> list[Html]:
    """Return the cells of a row as HTML without end tags, which are optional here. A long cell is
    below the short ones, and the last cell `beside` them all. A cell before a long one takes the
    columns that this leaves empty.
    """
    long = [n for n, text in enumerate(texts, 1) if n > 1 and _is_long(text)]
    if not long:
        return [markup("<td>{}", cell) for cell in cells]
    end = -2 if beside else -1
    placed: list[Html] = []
    for number, cell in enumerate(cells, 1):
        area = f"1/{number}"
        if number in long:
            area = f"{2 + long.index(number)}/2/auto/{end}"
        elif beside and number == len(cells):
            area += f"/span {1 + len(long)}"
        elif number > 1 and number + 1 in long:
            area += f"/auto/{next(n for n in range(number + 1, len(cells) + 2) if n not in long)}"
        placed.append(markup('<td style="grid-area:{}">{}', esc(area), cell))
    return placed


def _is_long(text: str) -> bool:
    return len(_visible_text(text)) > _LONG_CELL


def _count_lines(texts: Sequence[str], widths: Sequence[int]) -> int:
    """Return the number of lines of the tallest of these cells, an estimate for browsers before
    they lay out the row.
    """
    return max(
        sum(-(-max(len(line), 1) // width) for line in _visible_text(text).split("\n"))
        for text, width in zip(texts, widths, strict=True)
    )


def _draw_name(name: str) -> Html:
    """Draw a name; a long one may break between its parts."""
    return (
        allow_breaks(name, parts.INNER_UNDERSCORES, _BREAK_POINTS)
        if len(name) > _SHORT_NAME
        else esc(name)
    )


def _split_list(text: str) -> tuple[list[str], list[str]]:
    """Return the items of a list that are shown, and those that are folded."""
    items = text.removeprefix("- ").split("\n- ")
    shown = 3 if len(items) > _MOST_ITEMS else _MOST_ITEMS
    return items[:shown], items[shown:]


def _draw_list(items: Sequence[str]) -> Html:
    return tag("ul", *(tag("li", parts.prose(item)) for item in items))


def _fold_list(items: Sequence[str]) -> Html:
    """Fold what is printed all the same."""
    return parts.fold(f"{len(items)} more", _draw_list(items), paper=True)


def _draw_cell(text: str, git: str) -> Html:
    """Draw a cell: a place as a link to PyTorch's repository, lines that begin with a dash as a
    list, other lines as preformatted text.
    """
    if text == "–":
        return NOTHING
    if _PLACE.fullmatch(text):
        path, _, line = text.rpartition(":")
        short = f"{path.rsplit('/', 1)[1]}:{line}"
        url = commit_url(git, path, int(line))
        return tag("a", esc(short), href=url, title=text) if url else esc(text)
    if text.startswith("- "):
        first, rest = _split_list(text)
        return join([_draw_list(first), _fold_list(rest) if rest else NOTHING])
    if "\n" in text:
        return tag("pre", tag("code", esc(text)), class_="tclab-lines")
    return parts.prose(text)
