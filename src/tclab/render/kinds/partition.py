"""Render partitions: each value of the forward with its fate, its bytes and the reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tclab.model import FATES
from tclab.render import columns, parts
from tclab.render.escape import SPACE, Html, esc, join, tag
from tclab.render.options import Options, place_link
from tclab.render.parts import byte_count

if TYPE_CHECKING:
    from tclab.model import Partition, PartitionedValue

_CLASSES = dict(zip(FATES, ("input", "saved", "again", "forward"), strict=True))
_MEANINGS = {
    "input": "there anyway",
    "saved": "saved for the backward",
    "recomputed": "computed again in the backward, and not saved",
    "forward only": "not read by the backward",
}


def summary(partition: Partition) -> str:
    """Return a sentence on the bytes that are saved and those that are recomputed."""
    saved, recomputed = (byte_count(partition.bytes_of(fate)) for fate in ("saved", "recomputed"))
    return f"{saved} saved for the backward; {recomputed} not, since it is computed again."


def reason_text(value: PartitionedValue, partition: Partition) -> str:
    """Return why a value has its fate, if the value is a view or must not be recomputed; else
    ''.
    """
    if value.fate == "input":
        return ""
    owner = next(v for v in partition.values if v.storage == value.storage)
    if owner is not value:
        return f"a view of {owner.name}"
    return f"may not be recomputed: {value.banned}" if value.banned else ""


def _draw_bars(partition: Partition) -> Html:
    """Draw one bar for all bytes, in the colours of the fates, and a legend."""
    sizes = [(fate, partition.bytes_of(fate)) for fate in FATES]
    total = sum(size for _, size in sizes) or 1
    bars, names = [], []
    for fate, size in sizes:
        kind = f"tclab-fate-{_CLASSES[fate]}"
        if size:
            width = f"--w:{100 * size / total:.3f}%"
            bars.append(tag("span", class_=kind, style=width))
        swatch = tag("span", class_=f"tclab-swatch {kind}")
        amount = tag("strong", esc(byte_count(size)))
        names.append(tag("li", swatch, amount, SPACE, esc(_MEANINGS[fate])))
    label = ", ".join(f"{byte_count(size)} {_MEANINGS[fate]}" for fate, size in sizes)
    bar = tag("div", *bars, class_="tclab-bytes", role="img", aria_label=label)
    return join([bar, tag("ul", *names, class_="tclab-legend tclab-fates")])


def _make_cells(
    value: PartitionedValue, artifact: Partition, most_bytes: int
) -> tuple[str, str, Html, str]:
    is_owner = next(v for v in artifact.values if v.storage == value.storage) is value
    kind = f"tclab-fate-{_CLASSES[value.fate]}"
    width = f"--w:{100 * value.bytes / most_bytes if is_owner else 0:.3f}%"
    bar = tag("span", class_=f"tclab-amount {kind}", style=width)
    storage = join([bar, esc(byte_count(value.bytes))], SPACE) if is_owner else parts.DASH
    return value.name, kind, storage, reason_text(value, artifact)


def html(artifact: Partition, options: Options) -> Html:
    """Return one bar for all bytes, then a table with a row for each value."""
    if not artifact.values:
        return parts.note("Nothing was cut.")
    most = max(value.bytes for value in artifact.values) or 1
    rows = []
    for value in artifact.values:
        name, kind, storage, reason = _make_cells(value, artifact, most)
        fate = tag("span", esc(value.fate), class_=f"tclab-fate {kind}")
        operation = parts.code(value.target)
        rows.append((parts.code(name), operation, fate, storage, parts.prose(reason),
                     place_link(value.location, options)))  # fmt: skip
    head = ("Value", "Operation", "What becomes of it", "Storage", "Why", "Code")
    intro = parts.note(summary(artifact))
    values_table = parts.table(head, rows, label=artifact.title)
    return join(
        [
            intro,
            _draw_bars(artifact),
            parts.fold_rows_if_long(values_table, len(rows), options, "value"),
        ]
    )


def text(artifact: Partition) -> str:
    """Return a table with a row for each value."""
    rows = []
    for value in artifact.values:
        is_owner = next(v for v in artifact.values if v.storage == value.storage) is value
        storage = byte_count(value.bytes) if is_owner else "–"
        rows.append((value.name, value.target, value.fate, storage, reason_text(value, artifact)))
    head = ("value", "operation", "what becomes of it", "storage", "why")
    return columns.join(
        columns.heading(artifact.title, summary(artifact)), columns.table(head, rows)
    )
