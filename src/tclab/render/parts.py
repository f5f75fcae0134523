"""Draw the HTML elements that several renderers use: folds, tables, tabs and others."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tclab.render import escape
from tclab.render.escape import (
    NOTHING,
    SPACE,
    Html,
    attributes,
    clean,
    esc,
    join,
    markup,
    one_line,
    tag,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tclab.render.options import Options

INNER_UNDERSCORES = re.compile(r"(?<=[A-Za-z0-9])(_+)(?=[A-Za-z0-9])")

#: Listings with more lines are folded on paper, too.
MOST_PAPER_LINES = 40

DASH = markup('<span class="tclab-none">–</span>')


def code(text: str) -> Html:
    """Draw a short piece of code, in which a long name may break at underscores. Draw a dash for
    ''.
    """
    return tag("code", allow_underscore_breaks(text)) if text else DASH


def allow_underscore_breaks(text: str) -> Html:
    """Return `text` as HTML that may break after underscores, because names of kernels are long."""
    return escape.allow_breaks(text, INNER_UNDERSCORES)


def prose(text: str) -> Html:
    """Return text as HTML; text between backticks becomes code."""
    pieces = clean(text).split("`")
    if len(pieces) % 2 == 0:
        return esc(text)
    return join(code(piece) if index % 2 else esc(piece) for index, piece in enumerate(pieces))


def count(number: int, singular: str, plural: str = "") -> str:
    """Return a number with its noun: `1 guard`, `2 guards`."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def byte_count(number: int) -> str:
    """Return a number of bytes as text; a large number is in KiB or MiB."""
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if number >= unit:
            return f"{number / unit:,.4g} {name}"
    return f"{number:,} bytes"


def operation_count(number: int) -> str:
    """Return a number of operations as text: ``137 G``, ``2.1 M``."""
    for unit, name in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= unit:
            return f"{number / unit:,.3g} {name}"
    return f"{number:,}"


def line_count(text: str) -> int:
    """Count the lines of `text`; a final newline begins no line."""
    return text.count("\n") + (not text.endswith("\n")) if text else 0


def fold(summary: str, body: Html, *, search: bool = True, paper: bool = False) -> Html:
    """Fold `body` behind `summary` (text). Without `search` the site's search ignores it.

    With `paper` the body is printed even if the fold is closed.
    """
    head, search_flag = tag("summary", esc(one_line(summary))), None if search else ""
    class_name = "tclab-fold tclab-printed" if paper else "tclab-fold"
    return tag("details", head, body, class_=class_name, data_search_exclude=search_flag)


def fold_if_long(body: Html, language: str, lines: int, options: Options) -> Html:
    """Fold `body` if the options fold this number of `lines`. The summary is its length and
    language.

    A listing of at most MOST_PAPER_LINES is printed although it is folded.
    """
    if not options.folds(lines):
        return body
    return fold(size_text(lines, language), body, paper=lines <= MOST_PAPER_LINES)


def fold_rows_if_long(body: Html, rows: int, options: Options, name: str = "row") -> Html:
    """Fold a table if the options fold its number of rows. A printed page shows a folded table,
    too.
    """
    return fold(count(rows, name), body, paper=True) if options.folds(rows) else body


def size_text(lines: int, language: str) -> str:
    """Return `60 lines of C++`, or `60 lines` without a language."""
    return count(lines, "line") + (f" of {language}" if language else "")


def table(
    head: Sequence[str],
    rows: Iterable[Sequence[Html]],
    *,
    label: str = "",
    right: Sequence[bool] = (),
    units: Sequence[str] = (),
    search: bool = True,
) -> Html:
    """Draw a table in a box that scrolls sideways. `right` marks the right-aligned columns."""
    return scroll_box(
        bare_table(head, rows, right=right, units=units), label or "Table", search=search
    )


def bare_table(
    head: Sequence[str],
    rows: Iterable[Sequence[Html]],
    *,
    right: Sequence[bool] = (),
    units: Sequence[str] = (),
    totals: Sequence[Html] = (),
) -> Html:
    """Draw a table without a box around it; a row of `totals` stands below the headings, where it
    is in sight above many rows.
    """
    align = ["tclab-num" if is_right else None for is_right in [*right, *[False] * len(head)]][
        : len(head)
    ]
    all_units = [*units, *[""] * len(head)][: len(head)]
    headings = [_draw_heading(*heading) for heading in zip(head, all_units, align, strict=True)]

    def draw_row(row: Sequence[Html]) -> Html:
        return tag("tr", *(tag("td", cell, class_=align[at]) for at, cell in enumerate(row)))

    totals_row = draw_row(totals) if totals else NOTHING
    table_head = tag("thead", tag("tr", *headings), totals_row)
    return tag("table", table_head, tag("tbody", *map(draw_row, rows)), class_="tclab-table")


def heading_text(name: str, unit: str) -> str:
    """Return the name of a column with its unit: ``eager [µs]``."""
    return f"{one_line(name)} {_bracket_unit(unit)}".strip()


def _bracket_unit(unit: str) -> str:
    return f"[{unit}]" if unit else ""


def _draw_heading(name: str, unit: str, align: str | None) -> Html:
    """Draw a column's heading with its unit. An empty heading is a plain cell."""
    if not heading_text(name, unit):
        return tag("td")
    unit_html = tag("span", esc(_bracket_unit(unit)), class_="tclab-unit") if unit else NOTHING
    return tag(
        "th", join([esc(name), unit_html], SPACE if unit else NOTHING), scope="col", class_=align
    )


def scroll_box(html: Html, label: str, *, search: bool = True, class_: str = "") -> Html:
    """Put HTML into a box that scrolls sideways, also by keyboard."""
    return tag(
        "div",
        html,
        class_=f"tclab-scroll {class_}".strip(),
        tabindex="0",
        role="group",
        aria_label=one_line(label),
        data_search_exclude=None if search else "",
    )


def tabs(
    label: str,
    panels: Sequence[tuple[str, Html]],
    options: Options,
    *,
    chosen_index: int = 0,
    keep: bool = False,
) -> Html:
    """Draw panels of which one is visible. Radio buttons choose it, so JavaScript is not needed.

    `panels` are (name, HTML). Paper shows all of them, each under its name. With `keep` the
    script opens the panel with the name that the reader chose last, on any page.
    """
    group = options.id("tab")
    inputs, bodies = [], []
    for index, (name, html) in enumerate(panels):
        ident = f"{group}-{index}"
        radio = attributes(type="radio", name=group, id=ident, checked=index == chosen_index)
        inputs += [markup("<input{}>", radio), tag("label", esc(name), for_=ident)]
        bodies.append(tag("div", html, class_="tclab-panel", data_label=one_line(name)))
    choice = tag(
        "div",
        *inputs,
        class_="tclab-choice",
        role="radiogroup",
        aria_label=label,
        data_keep=keep,
    )
    return tag("div", choice, *bodies, class_="tclab-tabs")


def facts(pairs: Iterable[tuple[str, Html]]) -> Html:
    """Draw a definition list of (text, HTML); empty values are left out."""
    rows = [
        markup("<div><dt>{}</dt><dd>{}</dd></div>", esc(name), html) for name, html in pairs if html
    ]
    return tag("dl", *rows, class_="tclab-facts") if rows else NOTHING


def chips(pairs: Iterable[tuple[str, int]]) -> Html:
    """Draw each name with its count."""
    items = [
        markup("<li>{} <span>{:,}</span></li>", tag("code", esc(name)), number)
        for name, number in pairs
    ]
    return tag("ul", *items, class_="tclab-chips") if items else NOTHING


def caption(text: str) -> Html:
    """Draw the caption below a table or a drawing; nothing for ''."""
    return tag("p", esc(text), class_="tclab-caption") if text else NOTHING


def note(text: str) -> Html:
    """Draw a plain sentence, for example that there is nothing to show."""
    return tag("p", esc(text), class_="tclab-note")
