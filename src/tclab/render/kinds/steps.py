"""Dynamo's symbolic execution: a card an instruction, with the stack before it and what it made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tclab.render import columns, highlight, parts
from tclab.render.escape import COMMA, NOTHING, SPACE, Html, esc, join, markup, tag
from tclab.render.options import Options, place

if TYPE_CHECKING:
    from tclab.model import Instruction, SourceLine, Steps


def summary(steps: Steps) -> str:
    """How many instructions, and how many of them made a node."""
    with_nodes = sum(bool(step.nodes) for step in steps)
    return f"{parts.count(len(steps.steps), 'instruction')}, of which {with_nodes} made nodes."


def _stack(step: Instruction) -> Html:
    """The values, the top of the stack first."""
    if not step.stack:
        return tag("p", esc("stack: empty"), class_="tclab-empty")
    values = tag("ol", *(tag("li", parts.code(value)) for value in reversed(step.stack)))
    return join([tag("p", esc("stack, its top first"), class_="tclab-empty"), values])


def _card(number: int, whole: int, step: Instruction, options: Options) -> Html:
    head = [tag("span", esc(f"{number} of {whole}")), parts.code(step.name)]
    head += [esc(step.argument)] if step.argument else []
    nodes = markup("adds {} to the graph", join(map(parts.code, step.nodes), COMMA))
    pieces = [
        _where(step.location, options) if step.location else NOTHING,
        tag("p", join(head, SPACE), class_="tclab-step-name"),
        tag("div", _stack(step), class_="tclab-stack-now"),
        tag("p", nodes, class_="tclab-made") if step.nodes else NOTHING,
    ]
    return tag("li", *pieces, class_="tclab-step", id=options.id("step", number))


def _where(line: SourceLine, options: Options) -> Html:
    code = highlight.inline(line.code) if line.code else NOTHING
    return tag("p", place(line, options), SPACE, code, class_="tclab-where")


def html(artifact: Steps, options: Options) -> Html:
    """The cards in one row that is walked through; on paper all of them."""
    if not artifact.steps:
        return parts.note("No instruction was executed.")
    whole = len(artifact.steps)
    cards = [_card(i, whole, step, options) for i, step in enumerate(artifact, 1)]
    count = parts.note(summary(artifact))
    row = tag("ol", *cards, class_="tclab-steps")
    return join([count, parts.scroll(row, artifact.title or "Steps", class_="tclab-walk")])


def text(artifact: Steps) -> str:
    """A row an instruction, for a terminal."""
    rows = [
        (
            str(step.location.line) if step.location else "–",
            f"{step.name} {step.argument}".strip(),
            "\n".join(reversed(step.stack)) or "–",
            ", ".join(step.nodes) or "–",
        )
        for step in artifact
    ]
    head = ("line", "instruction", "stack, its top first", "nodes made")
    return columns.join(
        columns.heading(artifact.title, summary(artifact)), columns.table(head, rows)
    )
