"""Annotated source: the user's lines, the graphs that hold them, what the compiler did there."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from tclab.render import columns, highlight, parts
from tclab.render.escape import NEWLINE, SPACE, Html, clean, esc, identifier, join, one_line, tag

if TYPE_CHECKING:
    from tclab.model import Annotated, LineNote
    from tclab.render.options import Options


def _graphs(artifact: Annotated) -> dict[int, str]:
    """Line in the code → the graphs that hold it: ``0``, ``0 2``."""
    return {line: " ".join(map(one_line, of)) for line, of in artifact.compiled.items()}


def _notes(artifact: Annotated) -> dict[int, list[LineNote]]:
    """Notes by line, in order; one on no line of the code stands at the last."""
    by_line: dict[int, list[LineNote]] = defaultdict(list)
    last = artifact.first_line + max(1, parts.line_count(clean(artifact.code))) - 1
    for note in artifact.notes:
        by_line[min(max(note.line, artifact.first_line), last)].append(note)
    return by_line


def _note(note: LineNote) -> Html:
    label = tag("strong", esc(one_line(note.label)))
    pieces = [label, parts.prose(note.text)]
    pieces += [tag("small", parts.prose(note.detail))] if note.detail else []
    kind = identifier(note.label.replace(" ", "-"))
    return tag("span", join(pieces, SPACE), class_=f"tclab-said-{kind}")


def _line(html: Html, at: int, margin: str, graphs: str, notes: list[LineNote],
          options: Options) -> Html:  # fmt: skip
    title = f"in graph {graphs}" if graphs else None
    code = tag(
        "span",
        tag("span", data_linenos=margin),
        html,
        NEWLINE,
        id=options.id(f"L{at}"),
        class_="tclab-compiled" if graphs else None,
        title=title,
    )
    return join([code, *map(_note, notes)])


def _margins(artifact: Annotated, count: int) -> list[str]:
    """What stands left of each line: its number, and the graphs."""
    graphs = _graphs(artifact)
    numbers = len(str(artifact.first_line + count - 1))
    labels = [_short(graphs.get(line, "")) for line in range(1, count + 1)]
    wide = max(map(columns.width, labels), default=0)
    return [
        f"{artifact.first_line + i:>{numbers}} {text}{' ' * (wide - columns.width(text))} "
        for i, text in enumerate(labels)
    ]


def _short(graphs: str) -> str:
    """At most eight characters: the first of many graphs, and that there are more."""
    if len(graphs) <= 8:
        return graphs
    return graphs.split(" ")[0][:6] + " …"


def html(artifact: Annotated, options: Options) -> Html:
    """The code under its file name; below a line what is said of it."""
    lines = highlight.lines(artifact.code, artifact.language)
    notes, graphs = _notes(artifact), _graphs(artifact)
    body = []
    for line, (code, margin) in enumerate(zip(lines, _margins(artifact, len(lines))), 1):
        at = artifact.first_line + line - 1
        body.append(_line(code, at, margin, graphs.get(line, ""), notes.get(at, []), options))
    inner = tag("code", *body, tabindex="0", aria_label=one_line(artifact.title) or None)
    name = tag("p", parts.code(artifact.filename), class_="tclab-filename")
    block = tag("div", tag("pre", inner), class_="highlight tclab-code tclab-annotated")
    return join([name, block]) if artifact.filename else block


def text(artifact: Annotated) -> str:
    """The code with line numbers and graphs; below a line what is said of it."""
    lines = clean(artifact.code).rstrip("\n").split("\n")
    notes = _notes(artifact)
    out = [columns.heading(artifact.title, artifact.filename)]
    for line, (code, margin) in enumerate(zip(lines, _margins(artifact, len(lines)))):
        out.append(f"{margin}│ {code}".rstrip())
        indent = " " * columns.width(margin) + "│   "
        for note in notes.get(artifact.first_line + line, []):
            sentence = f"{note.label}: {note.text}" + (f" ({note.detail})" if note.detail else "")
            out.append(columns.paragraph(sentence, indent[:-2] + "^ ", indent))
    return columns.join(*out)
