"""Render graph breaks: the place of each, and why Dynamo stopped tracing there."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tclab.render import columns, highlight, parts
from tclab.render.escape import NOTHING, SPACE, Html, esc, join, tag
from tclab.render.options import Options, place_link

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tclab.model import Break, Breaks, SourceLine

#: The address of a break's row in the reference, relative to the site's root, without the break's
#: id at the end.
ROW_ANCHOR = "reference/graph-breaks.html#graph-breaks-"
_REGISTRY = "https://meta-pytorch.github.io/compile-graph-break-site/gb/"


def registry_url(gb_id: str) -> str:
    """Return the address of a break in PyTorch's registry; '' if `gb_id` is not like ``GB0059``."""
    match = re.fullmatch(r"GB(\d{4})", gb_id)
    return f"{_REGISTRY}gb{match[1]}.html" if match else ""


def summary(breaks: Breaks) -> str:
    """Count the breaks and the graphs in a sentence."""
    if breaks.breaks:
        return f"{parts.count(len(breaks), 'graph break')}, {parts.count(breaks.graphs, 'graph')}."
    graphs = "one graph" if breaks.graphs == 1 else parts.count(breaks.graphs, "graph")
    return f"No graph breaks: {graphs}."


def _draw_id(item: Break, options: Options) -> Html:
    """Draw the id of a break as a link: on the site to the reference, in a report to PyTorch's
    registry.
    """
    url = registry_url(item.gb_id)
    label = esc(item.gb_id)
    if not url:
        return tag("span", label, class_="tclab-gb")
    kind, registry = item.gb_type or item.gb_id, "PyTorch's registry of graph breaks"
    if options.root is not None:
        url, registry = f"{options.root}{ROW_ANCHOR}{item.gb_id}", "the reference"
    return tag("a", label, class_="tclab-gb", href=url, title=f"{kind} in {registry}")


def _draw_line(line: SourceLine | None, options: Options) -> Html:
    """Draw a source line: place, function and code."""
    if line is None:
        return NOTHING
    pieces = [place_link(line, options)]
    pieces += [esc("in"), tag("code", esc(line.function))] if line.function else []
    pieces += [highlight.inline(line.code)] if line.code.strip() else []
    return join(pieces, SPACE)


def _draw_stack(item: Break, options: Options) -> Html:
    if not item.stack:
        return NOTHING
    rows = [tag("li", _draw_line(line, options)) for line in item.stack]
    title = f"User stack, {parts.count(len(item.stack), 'frame')}"
    return parts.fold(title, tag("ol", *rows, class_="tclab-stack"))


def _extra_reason(item: Break) -> str:
    """Return the reason if the title and the explanation do not repeat it, else ''."""
    said_already = ("", item.gb_type or item.reason, item.explanation)
    return "" if item.reason.strip() in [text.strip() for text in said_already] else item.reason


def draw_break(item: Break, options: Options) -> Html:
    """Draw a break as an item of a list."""
    name = [
        tag("strong", parts.prose(item.gb_type or item.reason)),
        *([_draw_id(item, options)] * bool(item.gb_id)),
    ]
    skipped = esc("The frame is skipped: it runs without compiling.")
    reason = _extra_reason(item)
    hints = [tag("li", parts.prose(h)) for h in item.hints]
    pieces = [
        tag("p", join(name, SPACE)),
        tag("p", _draw_line(item.location, options), class_="tclab-where")
        if item.location
        else NOTHING,
        tag("p", skipped, class_="tclab-skipped") if item.skipped else NOTHING,
        tag("p", parts.prose(reason), class_="tclab-reason") if reason else NOTHING,
        tag("p", parts.prose(item.explanation)) if item.explanation else NOTHING,
        tag("ul", *hints, class_="tclab-hints") if hints else NOTHING,
        _draw_stack(item, options),
    ]
    return tag("li", *pieces, class_="tclab-break")


def html(artifact: Breaks, options: Options) -> Html:
    """Return a sentence with the counts, then each break."""
    intro = parts.note(summary(artifact))
    items = [draw_break(item, options) for item in artifact]
    return join([intro, tag("ol", *items, class_="tclab-breaks")]) if items else intro


def _text_lines(number: int, item: Break) -> Iterator[str]:
    name = f"{item.gb_type or item.reason} {f'[{item.gb_id}]' if item.gb_id else ''}".rstrip()
    yield columns.paragraph(name, f"{number}. ", "   ")
    if item.location:
        yield columns.paragraph(f"{item.location}  {item.location.code.strip()}".rstrip(), "   at ")
    if item.skipped:
        yield "   The frame is skipped: it runs without compiling."
    if _extra_reason(item):
        yield columns.paragraph(_extra_reason(item), "   ", "   ")
    if item.explanation:
        yield columns.paragraph(item.explanation, "   ", "   ")
    for hint in item.hints:
        yield columns.paragraph(hint, "   - ", "     ")
    for line in item.stack:
        yield columns.paragraph(f"{line}  {line.code.strip()}".rstrip(), "     ", "       ")


def text(artifact: Breaks) -> str:
    """Return the counts and each break as text."""
    items = ["\n".join(_text_lines(i, item)) for i, item in enumerate(artifact, 1)]
    return columns.join(columns.heading(artifact.title, summary(artifact)), *items)
