"""Pieces of HTML that several artifacts use: folds, tables, tabs."""

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

#: Longer listings are folded on paper, too.
PAPER_LINES = 40

DASH = markup('<span class="tclab-none">–</span>')


def code(text: str) -> Html:
    """A short piece of code; long names break at underscores."""
    return tag("code", breakable(text)) if text else DASH


def breakable(text: str) -> Html:
    """`text` as HTML that may be broken behind underscores: kernels' names are long."""
    return escape.breakable(text, INNER_UNDERSCORES)


def prose(text: str) -> Html:
    """Text as HTML; what it has between backticks is shown as code."""
    pieces = clean(text).split("`")
    if len(pieces) % 2 == 0:
        return esc(text)
    return join(code(p) if i % 2 else esc(p) for i, p in enumerate(pieces))


def count(number: int, singular: str, plural: str = "") -> str:
    """`1 guard`, `2 guards`."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def byte_count(number: int) -> str:
    """Bytes in KiB and MiB where they are many."""
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if number >= unit:
            return f"{number / unit:,.4g} {name}"
    return f"{number:,} bytes"


def line_count(text: str) -> int:
    """Lines of `text`; a last newline begins no line."""
    return text.count("\n") + (not text.endswith("\n")) if text else 0


def fold(summary: str, body: Html, *, search: bool = True, paper: bool = False) -> Html:
    """`body` behind `summary` (text), which a click opens; not `search`: the site's finds none.

    What is for `paper`, too, is printed though it is closed.
    """
    head, hidden = tag("summary", esc(one_line(summary))), None if search else ""
    name = "tclab-fold tclab-printed" if paper else "tclab-fold"
    return tag("details", head, body, class_=name, data_search_exclude=hidden)


def folded(body: Html, language: str, lines: int, options: Options) -> Html:
    """`body`, folded where the options say so; how long it is, and in which language, names it.

    Not its title, which stands right above. Paper gets what is at most a page.
    """
    if not options.folds(lines):
        return body
    return fold(size(lines, language), body, paper=lines <= PAPER_LINES)


def folded_rows(body: Html, rows: int, options: Options, name: str = "row") -> Html:
    """A table of so many rows, folded where the options say so; paper gets all of it."""
    return fold(count(rows, name), body, paper=True) if options.folds(rows) else body


def size(lines: int, language: str) -> str:
    """`60 lines of C++`; text in no language is `60 lines`."""
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
    """A table that scrolls sideways in its own box. Cells of `rows` are HTML already."""
    return scroll(grid(head, rows, right=right, units=units), label or "Table", search=search)


def grid(
    head: Sequence[str],
    rows: Iterable[Sequence[Html]],
    *,
    right: Sequence[bool] = (),
    units: Sequence[str] = (),
) -> Html:
    """A table without its box."""
    align = ["tclab-num" if r else None for r in [*right, *[False] * len(head)]][: len(head)]
    padded = [*units, *[""] * len(head)][: len(head)]
    names = [_heading(*each) for each in zip(head, padded, align, strict=True)]
    body = []
    for row in rows:
        cells = (tag("td", cell, class_=align[i]) for i, cell in enumerate(row))
        body.append(tag("tr", *cells))
    head_row, inner = tag("thead", tag("tr", *names)), tag("tbody", *body)
    return tag("table", head_row, inner, class_="tclab-table")


def heading(name: str, unit: str) -> str:
    """A column's name with its unit, ``eager [µs]``, wherever a table is shown."""
    return f"{one_line(name)} {_bracketed(unit)}".strip()


def _bracketed(unit: str) -> str:
    return f"[{unit}]" if unit else ""


def _heading(name: str, unit: str, align: str | None) -> Html:
    """A column's heading, its unit quieter; an empty one is no heading."""
    if not heading(name, unit):
        return tag("td")
    of = tag("span", esc(_bracketed(unit)), class_="tclab-unit") if unit else NOTHING
    return tag("th", join([esc(name), of], SPACE if unit else NOTHING), scope="col", class_=align)


def scroll(html: Html, label: str, *, search: bool = True, class_: str = "") -> Html:
    """A box that scrolls sideways, reachable by keyboard."""
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
    chosen: int = 0,
    keep: bool = False,
) -> Html:
    """Panels of which one is shown: radio buttons, so that it works without JavaScript.

    `panels` are (name, HTML). In print all are shown, each under its name. With `keep` the
    script shows the view that was last chosen anywhere on the site.
    """
    group = options.id("tab")
    inputs, bodies = [], []
    for i, (name, html) in enumerate(panels):
        ident = f"{group}-{i}"
        radio = attributes(type="radio", name=group, id=ident, checked=i == chosen)
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
    """A small definition list of (text, HTML); empty values are left out."""
    rows = [
        markup("<div><dt>{}</dt><dd>{}</dd></div>", esc(name), html) for name, html in pairs if html
    ]
    return tag("dl", *rows, class_="tclab-facts") if rows else NOTHING


def chips(pairs: Iterable[tuple[str, int]]) -> Html:
    """Names with a count each."""
    items = [
        markup("<li>{} <span>{:,}</span></li>", tag("code", esc(name)), number)
        for name, number in pairs
    ]
    return tag("ul", *items, class_="tclab-chips") if items else NOTHING


def caption(text: str) -> Html:
    """What stands below a table or a drawing; nothing for ''."""
    return tag("p", esc(text), class_="tclab-caption") if text else NOTHING


def note(text: str) -> Html:
    """A plain sentence where there is nothing else to show."""
    return tag("p", esc(text), class_="tclab-note")
