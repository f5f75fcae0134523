"""Compress the folded parts of a large page, so that a report opens fast.

The code of a column, and each table of guards, becomes an element with gzip data in base64, which
the viewer's script unpacks when the reader opens the part. The Python source is not compressed,
because it is open.
"""

from __future__ import annotations

import base64
import gzip
import json
from typing import TYPE_CHECKING

from tclab.render.delivery import BareCode, Code, Delivery, MarkedCode
from tclab.render.escape import Html, join, markup, script, tag

if TYPE_CHECKING:
    from collections.abc import Sequence

_NOTE = markup(
    "Compressed in this file, for the page's script. "
    "<code>tclab explain --format json</code> writes it as plain text."
)


class Compressed(Delivery):
    """Keeps code and guards for the end of the page, in `elements` by name."""

    def __init__(self) -> None:
        self.elements: dict[str, list[object]] = {}
        self.chains: dict[str, int] = {}  # the prefix of each chain's ids → its number, from 1

    def deliver_column(self, chain: str, stage: str, panes: Sequence[Code]) -> Sequence[Html]:
        """Return a note in place of each pane; Python panes are returned unchanged."""
        number = self.chains.setdefault(chain, len(self.chains) + 1)
        if stage == "python":
            return super().deliver_column(chain, stage, panes)
        return [self._replace_by_note(f"packed{number}-{stage}", pane) for pane in panes]

    def _replace_by_note(self, name: str, pane: Code) -> Html:
        parts = self.elements.setdefault(name, [])
        parts.append(pane_content(pane))
        return tag(
            "div",
            tag("p", _NOTE),
            class_="tclab-away",
            data_code=name,
            data_part=len(parts) - 1,
            data_src="#",
            data_marked=isinstance(pane, MarkedCode),
            style=pane.style,
        )

    def deliver_guards(self, table: Html) -> Html:
        """Keep the table for the end of the page; return a note for its place."""
        name = f"packed-table{len(self.elements)}"
        self.elements[name] = [table]
        return tag("p", _NOTE, class_="tclab-packed", data_packed=name)

    def closing_html(self) -> Html:
        """Return the elements with the compressed parts."""
        return join(data_element(name, parts) for name, parts in self.elements.items())


def pane_content(pane: Code) -> object:
    """Return the data from which the viewer's script makes the pane."""
    if isinstance(pane, BareCode):
        return [pane.text, pane.noise]
    return pane.lines if isinstance(pane, MarkedCode) else pane.html


def pack(parts: Sequence[object], level: int = 9) -> str:
    """Pack parts for the viewer's script: JSON, gzip of a `level` from 1 to 9, base64."""
    data = json.dumps(parts, ensure_ascii=False, separators=(",", ":")).encode()
    return base64.b64encode(gzip.compress(data, level, mtime=0)).decode()


def data_element(name: str, parts: Sequence[object], level: int = 9) -> Html:
    """Return an element with compressed parts, which the viewer's script finds by its id."""
    return script(pack(parts, level), type="application/gzip", id=name)
