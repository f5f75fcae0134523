"""Render annotated source: the user's lines, their graphs, and notes on what the compiler did."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from tclab.render import columns, highlight, parts
from tclab.render.escape import NEWLINE, SPACE, Html, clean, esc, identifier, join, one_line, tag

if TYPE_CHECKING:
    from tclab.model import Annotated, LineNote
    from tclab.render.options import Options


def _graphs_by_line(artifact: Annotated) -> dict[int, str]:
    """Map each line number in the code to the numbers of the line's graphs as text: ``0``, ``0
    2``.
    """
    return {line: " ".join(map(one_line, graphs)) for line, graphs in artifact.compiled.items()}


def _notes_by_line(artifact: Annotated) -> dict[int, list[LineNote]]:
    """Map line numbers in the file to their notes, in order. A note outside of the code goes to the
    first or the last line.
    """
    by_line: dict[int, list[LineNote]] = defaultdict(list)
    last = artifact.first_line + max(1, parts.line_count(clean(artifact.code))) - 1
    for note in artifact.notes:
        by_line[min(max(note.line, artifact.first_line), last)].append(note)
    return by_line


def _draw_note(note: LineNote) -> Html:
    label = tag("strong", esc(one_line(note.label)))
    pieces = [label, parts.prose(note.text)]
    pieces += [tag("small", parts.prose(note.detail))] if note.detail else []
    kind = identifier(note.label.replace(" ", "-"))
    return tag("span", join(pieces, SPACE), class_=f"tclab-said-{kind}")


def _draw_line(html: Html, line_number: int, margin: str, graphs: str, notes: list[LineNote],
          options: Options) -> Html:  # fmt: skip
    title = f"in graph {graphs}" if graphs else None
    code = tag(
        "span",
        tag("span", data_linenos=margin),
        html,
        NEWLINE,
        id=options.id(f"L{line_number}"),
        class_="tclab-compiled" if graphs else None,
        title=title,
    )
    return join([code, *map(_draw_note, notes)])


def _draw_margins(artifact: Annotated, count: int) -> list[str]:
    """Return the margin of each line: its number and its graphs."""
    graphs = _graphs_by_line(artifact)
    numbers = len(str(artifact.first_line + count - 1))
    labels = [_shorten_graphs(graphs.get(line, "")) for line in range(1, count + 1)]
    widest = max(map(columns.width, labels), default=0)
    return [
        f"{artifact.first_line + i:>{numbers}} {text}{' ' * (widest - columns.width(text))} "
        for i, text in enumerate(labels)
    ]


def _shorten_graphs(graphs: str) -> str:
    """Shorten the numbers of graphs to eight characters: the first one and an ellipsis."""
    if len(graphs) <= 8:
        return graphs
    return graphs.split(" ")[0][:6] + " …"


def html(artifact: Annotated, options: Options) -> Html:
    """Return the code under its file name, with each line's notes below it."""
    lines = highlight.lines(artifact.code, artifact.language)
    notes, graphs = _notes_by_line(artifact), _graphs_by_line(artifact)
    body = []
    for line, (code, margin) in enumerate(zip(lines, _draw_margins(artifact, len(lines))), 1):
        line_number = artifact.first_line + line - 1
        body.append(
            _draw_line(
                code, line_number, margin, graphs.get(line, ""), notes.get(line_number, []), options
            )
        )
    inner = tag("code", *body, tabindex="0", aria_label=one_line(artifact.title) or None)
    name = tag("p", parts.code(artifact.filename), class_="tclab-filename")
    block = tag("div", tag("pre", inner), class_="highlight tclab-code tclab-annotated")
    return join([name, block]) if artifact.filename else block


def text(artifact: Annotated) -> str:
    """Return the code with line numbers and graphs, and each line's notes below it."""
    lines = clean(artifact.code).rstrip("\n").split("\n")
    notes = _notes_by_line(artifact)
    out = [columns.heading(artifact.title, artifact.filename)]
    for line, (code, margin) in enumerate(zip(lines, _draw_margins(artifact, len(lines)))):
        out.append(f"{margin}│ {code}".rstrip())
        indent = " " * columns.width(margin) + "│   "
        for note in notes.get(artifact.first_line + line, []):
            sentence = f"{note.label}: {note.text}" + (f" ({note.detail})" if note.detail else "")
            out.append(columns.paragraph(sentence, indent[:-2] + "^ ", indent))
    return columns.join(*out)
