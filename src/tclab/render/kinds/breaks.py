"""Graph breaks: why Dynamo stopped tracing, and where."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tclab.render import columns, highlight, parts
from tclab.render.escape import NOTHING, SPACE, Html, esc, join, tag
from tclab.render.options import Options, place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tclab.model import Break, Breaks, SourceLine

#: Of the site's root: the row of a break.
ROW = "reference/graph-breaks.html#graph-breaks-"
_REGISTRY = "https://meta-pytorch.github.io/compile-graph-break-site/gb/"


def registry_url(gb_id: str) -> str:
    """The page of a graph break in PyTorch's registry; '' for what is not such an id."""
    match = re.fullmatch(r"GB(\d{4})", gb_id)
    return f"{_REGISTRY}gb{match[1]}.html" if match else ""


def summary(breaks: Breaks) -> str:
    """How many breaks and graphs there are, in words."""
    if breaks.breaks:
        return f"{parts.count(len(breaks), 'graph break')}, {parts.count(breaks.graphs, 'graph')}."
    graphs = "one graph" if breaks.graphs == 1 else parts.count(breaks.graphs, "graph")
    return f"No graph breaks: {graphs}."


def _gb(item: Break, options: Options) -> Html:
    """The id of a break: on the site a link to its row, in a report to PyTorch's page of it."""
    url = registry_url(item.gb_id)
    label = esc(item.gb_id)
    if not url:
        return tag("span", label, class_="tclab-gb")
    kind, list_ = item.gb_type or item.gb_id, "PyTorch's registry of graph breaks"
    if options.root is not None:
        url, list_ = f"{options.root}{ROW}{item.gb_id}", "the reference"
    return tag("a", label, class_="tclab-gb", href=url, title=f"{kind} in {list_}")


def _line(line: SourceLine | None, options: Options) -> Html:
    """A source line with its code."""
    if line is None:
        return NOTHING
    pieces = [place(line, options)]
    pieces += [esc("in"), tag("code", esc(line.function))] if line.function else []
    pieces += [highlight.inline(line.code)] if line.code.strip() else []
    return join(pieces, SPACE)


def _stack(item: Break, options: Options) -> Html:
    if not item.stack:
        return NOTHING
    rows = [tag("li", _line(line, options)) for line in item.stack]
    title = f"User stack, {parts.count(len(item.stack), 'frame')}"
    return parts.fold(title, tag("ol", *rows, class_="tclab-stack"))


def _more(item: Break) -> str:
    """The reason, where the break's type and the explanation do not say it already."""
    elsewhere = ("", item.gb_type or item.reason, item.explanation)
    return "" if item.reason.strip() in [text.strip() for text in elsewhere] else item.reason


def _break(item: Break, options: Options) -> Html:
    name = [
        tag("strong", parts.prose(item.gb_type or item.reason)),
        *([_gb(item, options)] * bool(item.gb_id)),
    ]
    skipped = esc("The frame is skipped: it runs without compiling.")
    reason = _more(item)
    hints = [tag("li", parts.prose(h)) for h in item.hints]
    pieces = [
        tag("p", join(name, SPACE)),
        tag("p", _line(item.location, options), class_="tclab-where") if item.location else NOTHING,
        tag("p", skipped, class_="tclab-skipped") if item.skipped else NOTHING,
        tag("p", parts.prose(reason), class_="tclab-reason") if reason else NOTHING,
        tag("p", parts.prose(item.explanation)) if item.explanation else NOTHING,
        tag("ul", *hints, class_="tclab-hints") if hints else NOTHING,
        _stack(item, options),
    ]
    return tag("li", *pieces, class_="tclab-break")


def html(artifact: Breaks, options: Options) -> Html:
    """The number of breaks and graphs, then each break."""
    count = parts.note(summary(artifact))
    items = [_break(item, options) for item in artifact]
    return join([count, tag("ol", *items, class_="tclab-breaks")]) if items else count


def _text(number: int, item: Break) -> Iterator[str]:
    name = f"{item.gb_type or item.reason} {f'[{item.gb_id}]' if item.gb_id else ''}".rstrip()
    yield columns.paragraph(name, f"{number}. ", "   ")
    if item.location:
        yield columns.paragraph(f"{item.location}  {item.location.code.strip()}".rstrip(), "   at ")
    if item.skipped:
        yield "   The frame is skipped: it runs without compiling."
    if _more(item):
        yield columns.paragraph(_more(item), "   ", "   ")
    if item.explanation:
        yield columns.paragraph(item.explanation, "   ", "   ")
    for hint in item.hints:
        yield columns.paragraph(hint, "   - ", "     ")
    for line in item.stack:
        yield columns.paragraph(f"{line}  {line.code.strip()}".rstrip(), "     ", "       ")


def text(artifact: Breaks) -> str:
    """The same, for a terminal."""
    items = ["\n".join(_text(i, item)) for i, item in enumerate(artifact, 1)]
    return columns.join(columns.heading(artifact.title, summary(artifact)), *items)
