"""Pieces of HTML that several artifacts use: folds, tables, tabs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tclab.render.escape import clean, esc, one_line, tag

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tclab.render.options import Options

_INNER_UNDERSCORES = re.compile(r"(?<=[A-Za-z0-9])(_+)(?=[A-Za-z0-9])")

DASH = '<span class="tclab-none">–</span>'


def code(text: str) -> str:
    """A short piece of code; long names break at underscores."""
    return tag("code", breakable(text)) if text else DASH


def breakable(text: str) -> str:
    """`text` as HTML that may be broken behind underscores: kernels' names are long."""
    return _INNER_UNDERSCORES.sub(r"\1<wbr>", esc(text))


def prose(text: str) -> str:
    """Text as HTML; what it has between backticks is shown as code."""
    pieces = clean(text).split("`")
    if len(pieces) % 2 == 0:
        return esc(text)
    return "".join(code(p) if i % 2 else esc(p) for i, p in enumerate(pieces))


def count(number: int, singular: str, plural: str = "") -> str:
    """`1 guard`, `2 guards`."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def line_count(text: str) -> int:
    """Lines of `text`; a last newline begins no line."""
    return text.count("\n") + (not text.endswith("\n")) if text else 0


def fold(summary: str, body: str, *, open_: bool = False, search: bool = True) -> str:
    """`body` behind `summary` (text), which a click opens; not `search`: the site's finds none."""
    head, hidden = tag("summary", esc(one_line(summary))), None if search else ""
    return tag("details", head + body, class_="tclab-fold", open=open_, data_search_exclude=hidden)


def folded(body: str, language: str, lines: int, options: Options) -> str:
    """`body`, folded where the options say so; how long it is, and in which language, names it.

    Not its title, which stands right above.
    """
    return fold(size(lines, language), body) if options.folds(lines) else body


def size(lines: int, language: str) -> str:
    """`60 lines of C++`; text in no language is `60 lines`."""
    return count(lines, "line") + (f" of {language}" if language else "")


def table(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    label: str = "",
    right: Sequence[bool] = (),
    units: Sequence[str] = (),
    search: bool = True,
) -> str:
    """A table that scrolls sideways in its own box. Cells of `rows` are HTML already."""
    return scroll(grid(head, rows, right=right, units=units), label or "Table", search=search)


def grid(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    right: Sequence[bool] = (),
    units: Sequence[str] = (),
) -> str:
    """A table without its box."""
    align = ["tclab-num" if r else None for r in [*right, *[False] * len(head)]][: len(head)]
    padded = [*units, *[""] * len(head)][: len(head)]
    names = [_heading(*each) for each in zip(head, padded, align, strict=True)]
    body = []
    for row in rows:
        cells = (tag("td", cell, class_=align[i]) for i, cell in enumerate(row))
        body.append(tag("tr", "".join(cells)))
    inner = f"<thead><tr>{''.join(names)}</tr></thead><tbody>{''.join(body)}</tbody>"
    return tag("table", inner, class_="tclab-table")


def _heading(name: str, unit: str, align: str | None) -> str:
    """A column's heading; an empty one is no heading."""
    if not name and not unit:
        return "<td></td>"
    of = f' <span class="tclab-unit">{esc(unit)}</span>' if unit else ""
    return tag("th", esc(name) + of, scope="col", class_=align)


def scroll(html: str, label: str, *, search: bool = True, class_: str = "") -> str:
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
    panels: Sequence[tuple[str, str]],
    options: Options,
    *,
    chosen: int = 0,
    keep: bool = False,
) -> str:
    """Panels of which one is shown: radio buttons, so that it works without JavaScript.

    `panels` are (name, HTML). In print all are shown, each under its name. With `keep` the
    script shows the view that was last chosen anywhere on the site.
    """
    group = options.id("tab")
    inputs, bodies = [], []
    for i, (name, html) in enumerate(panels):
        ident = f"{group}-{i}"
        radio = f'<input type="radio" name="{group}" id="{ident}"' + (
            " checked>" if i == chosen else ">"
        )
        inputs.append(radio + tag("label", esc(name), for_=ident))
        bodies.append(tag("div", html, class_="tclab-panel", data_label=one_line(name)))
    choice = tag(
        "div",
        "".join(inputs),
        class_="tclab-choice",
        role="radiogroup",
        aria_label=label,
        data_keep=keep,
    )
    return tag("div", choice + "".join(bodies), class_="tclab-tabs")


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    """A small definition list of (text, HTML); empty values are left out."""
    rows = [f"<div><dt>{esc(name)}</dt><dd>{html}</dd></div>" for name, html in pairs if html]
    return tag("dl", "".join(rows), class_="tclab-facts") if rows else ""


def chips(pairs: Iterable[tuple[str, int]]) -> str:
    """Names with a count each."""
    items = "".join(
        f"<li>{tag('code', esc(name))} <span>{number:,}</span></li>" for name, number in pairs
    )
    return tag("ul", items, class_="tclab-chips") if items else ""


def note(text: str) -> str:
    """A plain sentence where there is nothing else to show."""
    return tag("p", esc(text), class_="tclab-note")
