"""Render Dynamo's symbolic execution: a card for each instruction, with its stack and its new
nodes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tclab.render import columns, highlight, parts
from tclab.render.escape import COMMA, NOTHING, SPACE, Html, esc, join, markup, tag
from tclab.render.options import Options, place_link

if TYPE_CHECKING:
    from tclab.model import Instruction, SourceLine, Steps


def summary(steps: Steps) -> str:
    """Return a sentence with the number of instructions, and how many of them added nodes."""
    with_nodes = sum(bool(step.nodes) for step in steps)
    return f"{parts.count(len(steps.steps), 'instruction')}, of which {with_nodes} made nodes."


def _draw_stack(step: Instruction) -> Html:
    """Draw the stack before an instruction, its top first."""
    if not step.stack:
        return tag("p", esc("stack: empty"), class_="tclab-empty")
    values = tag("ol", *(tag("li", parts.code(value)) for value in reversed(step.stack)))
    return join([tag("p", esc("stack, its top first"), class_="tclab-empty"), values])


def _draw_card(number: int, total: int, step: Instruction, options: Options) -> Html:
    head = [tag("span", esc(f"{number} of {total}")), parts.code(step.name)]
    head += [esc(step.argument)] if step.argument else []
    nodes = markup("adds {} to the graph", join(map(parts.code, step.nodes), COMMA))
    pieces = [
        _draw_location(step.location, options) if step.location else NOTHING,
        tag("p", join(head, SPACE), class_="tclab-step-name"),
        tag("div", _draw_stack(step), class_="tclab-stack-now"),
        tag("p", nodes, class_="tclab-made") if step.nodes else NOTHING,
    ]
    return tag("li", *pieces, class_="tclab-step", id=options.id("step", number))


def _draw_location(line: SourceLine, options: Options) -> Html:
    code = highlight.inline(line.code) if line.code else NOTHING
    return tag("p", place_link(line, options), SPACE, code, class_="tclab-where")


def html(artifact: Steps, options: Options) -> Html:
    """Return the cards in rows."""
    if not artifact.steps:
        return parts.note("No instruction was executed.")
    total = len(artifact.steps)
    cards = [_draw_card(i, total, step, options) for i, step in enumerate(artifact, 1)]
    intro = parts.note(summary(artifact))
    return join([intro, tag("ol", *cards, class_="tclab-steps")])


def text(artifact: Steps) -> str:
    """Return a table with a row for each instruction."""
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
