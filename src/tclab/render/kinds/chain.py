"""Render chains: all stages of one graph in panes side by side, each line linked to its origins.

Without the script (assets/chain/) the panes are folds, one below the other, and each line names its
origins.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

from tclab.render import columns, parts
from tclab.render.escape import Html, clean, esc, one_line, script, tag
from tclab.render.options import Options
from tclab.render.stages import label
from tclab.render.viewer import frame, instructions
from tclab.render.viewer.lines import line_lengths
from tclab.render.viewer.panes import Panes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tclab.model import Chain, Listing

HELP = (
    "Point at a line to see what it came from and what it became; click to keep it and to scroll "
    "within the panes. Back undoes a click. "
    "Keys: ↑ ↓ lines, ← → stages, Enter keeps, n and p next and previous linked line, "
    "/ finds, c copies a link, Esc lets go."
)


def html(artifact: Chain, options: Options) -> Html:
    """Return the controls, the panes and the script's data on which lines are linked."""
    if not artifact.panes:
        return parts.note("Nothing was compiled.")
    panes = Panes(artifact, options)
    data = panes.index.payload() | {"help": instructions.explain_opcodes(artifact.panes)}
    lengths = [line_lengths(listing) for listing in artifact.panes]
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False)
    return tag(
        "div",
        frame.draw_tools(panes),
        frame.draw_columns(panes, lengths),
        tag("p", esc(HELP), class_="tclab-said", role="status"),
        script(text, type="application/json"),
        class_="tclab-chain",
        data_search_exclude="",
        style=f"--rows:{frame.tallest_column(panes, lengths)};"
        f"--need:{frame.longest_python_line(panes, lengths)}",
    )


# --------------------------------------------------------------------------- text


def _count_descendants(panes: Panes, line: int) -> str:
    """Count the lines of each stage that come from `line`: ``forward 2, kernel 5``."""
    counts: Counter[str] = Counter()
    for descendant in sorted(panes.index.descendants(line)):
        counts[panes.chain.panes[panes.index.pane(descendant)].stage] += 1
    return ", ".join(f"{stage} {count}" for stage, count in counts.items()) or "nothing"


def _text_rows(panes: Panes, pane: int, listing: Listing) -> Iterator[tuple[str, str, str]]:
    start = panes.index.starts[pane]
    for offset, code in enumerate(clean(listing.code).rstrip("\n").split("\n")):
        if code.strip():
            number = str(offset + listing.first_line)
            yield number, one_line(code), _count_descendants(panes, start + offset)


def text(artifact: Chain) -> str:
    """Return a table of the Python lines with the count of their descendants, and the length of
    each stage. The listings are left out.
    """
    panes = Panes(artifact, Options())
    tables = []
    for pane, listing in enumerate(artifact.panes):
        if listing.stage == "python":
            rows = list(_text_rows(panes, pane, listing))
            head = columns.heading(listing.title, listing.filename)
            tables.append(
                columns.join(head, columns.table(("line", "code", "became lines of"), rows))
            )
    sizes: Counter[str] = Counter()
    for pane, listing in enumerate(artifact.panes):
        sizes[label(listing.stage)] += panes.index.counts[pane]
    lengths = ", ".join(f"{name} {count:,}" for name, count in sizes.items()) or "none"
    return columns.join(
        columns.heading(artifact.title), *tables, columns.paragraph(f"Lines: {lengths}.")
    )
