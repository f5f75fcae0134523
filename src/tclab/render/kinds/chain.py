"""Chains: every stage of one graph in panes side by side, each line linked to its origin.

Without the script (assets/chain/) the panes stand one under the other, folded, and each line
names what it came from.
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
    """All panes, the controls above them, and for the script which lines are joined."""
    if not artifact.panes:
        return parts.note("Nothing was compiled.")
    panes = Panes(artifact, options)
    data = panes.index.payload() | {"help": instructions.known(artifact.panes)}
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False)
    return tag(
        "div",
        frame.tools(panes),
        frame.columns(panes),
        tag("p", esc(HELP), class_="tclab-said", role="status"),
        script(text, type="application/json"),
        class_="tclab-chain",
        data_search_exclude="",
        style=f"--rows:{frame.rows(panes)};--need:{frame.need(panes)}",
    )


# --------------------------------------------------------------------------- text


def _became(panes: Panes, line: int) -> str:
    """`forward 2, kernel 5`: how many lines of each stage a line became."""
    counts: Counter[str] = Counter()
    for below in sorted(panes.index.descendants(line)):
        counts[panes.chain.panes[panes.index.pane(below)].stage] += 1
    return ", ".join(f"{stage} {count}" for stage, count in counts.items()) or "nothing"


def _trace(panes: Panes, pane: int, listing: Listing) -> Iterator[tuple[str, str, str]]:
    start = panes.index.starts[pane]
    for offset, code in enumerate(clean(listing.code).rstrip("\n").split("\n")):
        if code.strip():
            number = str(offset + listing.first_line)
            yield number, one_line(code), _became(panes, start + offset)


def text(artifact: Chain) -> str:
    """What each line of Python became, and how long each stage is; not the listings."""
    panes = Panes(artifact, Options())
    tables = []
    for pane, listing in enumerate(artifact.panes):
        if listing.stage == "python":
            rows = list(_trace(panes, pane, listing))
            head = columns.heading(listing.title, listing.filename)
            tables.append(
                columns.join(head, columns.table(("line", "code", "became lines of"), rows))
            )
    sizes: Counter[str] = Counter()
    for pane, listing in enumerate(artifact.panes):
        sizes[label(listing.stage)] += panes.index.counts[pane]
    named = ", ".join(f"{name} {count:,}" for name, count in sizes.items()) or "none"
    return columns.join(
        columns.heading(artifact.title), *tables, columns.paragraph(f"Lines: {named}.")
    )
