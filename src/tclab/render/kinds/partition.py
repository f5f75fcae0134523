"""A partition: each value of the forward, what became of it, its bytes, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tclab.model import FATES
from tclab.render import columns, parts
from tclab.render.escape import SPACE, Html, esc, join, tag
from tclab.render.options import Options, place
from tclab.render.parts import byte_count

if TYPE_CHECKING:
    from tclab.model import PartedValue, Partition

_CLASSES = dict(zip(FATES, ("input", "saved", "again", "forward"), strict=True))
_MEANINGS = {
    "input": "there anyway",
    "saved": "saved for the backward",
    "recomputed": "computed again in the backward, and not saved",
    "forward only": "not read by the backward",
}


def summary(partition: Partition) -> str:
    """What is saved, and what is not because it is computed again."""
    saved, again = (byte_count(partition.bytes_of(fate)) for fate in ("saved", "recomputed"))
    return f"{saved} saved for the backward; {again} not, since it is computed again."


def why(value: PartedValue, partition: Partition) -> str:
    """The ban, or what made it free to choose."""
    if value.fate == "input":
        return ""
    owner = next(v for v in partition.values if v.storage == value.storage)
    if owner is not value:
        return f"a view of {owner.name}"
    return f"may not be recomputed: {value.banned}" if value.banned else ""


def _bars(partition: Partition) -> Html:
    """One bar, as long as all bytes, in the colours of the fates."""
    sizes = [(fate, partition.bytes_of(fate)) for fate in FATES]
    whole = sum(number for _, number in sizes) or 1
    bars, names = [], []
    for fate, number in sizes:
        kind = f"tclab-fate-{_CLASSES[fate]}"
        if number:
            width = f"--w:{100 * number / whole:.3f}%"
            bars.append(tag("span", class_=kind, style=width))
        swatch = tag("span", class_=f"tclab-swatch {kind}")
        amount = tag("strong", esc(byte_count(number)))
        names.append(tag("li", swatch, amount, SPACE, esc(_MEANINGS[fate])))
    label = ", ".join(f"{byte_count(number)} {_MEANINGS[fate]}" for fate, number in sizes)
    bar = tag("div", *bars, class_="tclab-bytes", role="img", aria_label=label)
    return join([bar, tag("ul", *names, class_="tclab-legend tclab-fates")])


def _cells(value: PartedValue, artifact: Partition, most: int) -> tuple[str, str, Html, str]:
    owner = next(v for v in artifact.values if v.storage == value.storage) is value
    kind = f"tclab-fate-{_CLASSES[value.fate]}"
    width = f"--w:{100 * value.bytes / most if owner else 0:.3f}%"
    bar = tag("span", class_=f"tclab-amount {kind}", style=width)
    storage = join([bar, esc(byte_count(value.bytes))], SPACE) if owner else parts.DASH
    return value.name, kind, storage, why(value, artifact)


def html(artifact: Partition, options: Options) -> Html:
    """The whole as one bar; then a row a value."""
    if not artifact.values:
        return parts.note("Nothing was cut.")
    most = max(value.bytes for value in artifact.values) or 1
    rows = []
    for value in artifact.values:
        name, kind, storage, reason = _cells(value, artifact, most)
        fate = tag("span", esc(value.fate), class_=f"tclab-fate {kind}")
        operation = parts.code(value.target)
        rows.append((parts.code(name), operation, fate, storage, parts.prose(reason),
                     place(value.location, options)))  # fmt: skip
    head = ("Value", "Operation", "What becomes of it", "Storage", "Why", "Code")
    count = parts.note(summary(artifact))
    body = parts.table(head, rows, label=artifact.title)
    return join([count, _bars(artifact), parts.folded_rows(body, len(rows), options, "value")])


def text(artifact: Partition) -> str:
    """The same, for a terminal."""
    rows = []
    for value in artifact.values:
        owner = next(v for v in artifact.values if v.storage == value.storage) is value
        storage = byte_count(value.bytes) if owner else "–"
        rows.append((value.name, value.target, value.fate, storage, why(value, artifact)))
    head = ("value", "operation", "what becomes of it", "storage", "why")
    return columns.join(
        columns.heading(artifact.title, summary(artifact)), columns.table(head, rows)
    )
