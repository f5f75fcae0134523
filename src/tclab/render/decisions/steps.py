"""Dynamo's symbolic execution: a card an instruction, with the stack before it and what it made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tclab.render import columns, highlight, parts
from tclab.render.escape import esc, tag
from tclab.render.options import Options, place

if TYPE_CHECKING:
    from tclab.model import Instruction, Steps


def summary(steps: Steps) -> str:
    """How many instructions, and how many of them made a node."""
    made = sum(bool(step.nodes) for step in steps)
    return f"{parts.count(len(steps.steps), 'instruction')}, of which {made} made nodes."


def _stack(step: Instruction) -> str:
    """The values, the top of the stack first."""
    if not step.stack:
        return tag("p", "stack: empty", class_="tclab-empty")
    values = "".join(tag("li", parts.code(value)) for value in reversed(step.stack))
    return tag("p", "stack, its top first", class_="tclab-empty") + tag("ol", values)


def _card(number: int, whole: int, step: Instruction, options: Options) -> str:
    code = highlight.inline(step.location.code) if step.location and step.location.code else ""
    where = f"{place(step.location, options)} {code}" if step.location else ""
    head = f"<span>{number} of {whole}</span> {parts.code(step.name)} {esc(step.argument)}"
    made = f"adds {', '.join(map(parts.code, step.nodes))} to the graph" if step.nodes else ""
    pieces = [
        tag("p", where, class_="tclab-where") if where else "",
        tag("p", head.rstrip(), class_="tclab-step-name"),
        tag("div", _stack(step), class_="tclab-stack-now"),
        tag("p", made, class_="tclab-made") if made else "",
    ]
    return tag("li", "".join(pieces), class_="tclab-step", id=options.id("step", number))


def html(artifact: Steps, options: Options) -> str:
    """The cards in one row that is walked through; on paper all of them."""
    if not artifact.steps:
        return parts.note("No instruction was executed.")
    whole = len(artifact.steps)
    cards = "".join(_card(i, whole, step, options) for i, step in enumerate(artifact, 1))
    said = tag("p", esc(summary(artifact)), class_="tclab-note")
    row = tag("ol", cards, class_="tclab-steps")
    return said + parts.scroll(row, artifact.title or "Steps", class_="tclab-walk")


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
