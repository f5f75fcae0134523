"""What is folded in a large page compressed within it: a report is read long before its SASS is.

The code of a column, and each table of guards, becomes an element that holds gzip in base64, which
the viewer unpacks when it is opened. The Python source stays as it is: it stands open.
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
    """Code and guards at the end of the page: the name of an element → what it holds."""

    def __init__(self) -> None:
        self.elements: dict[str, list[object]] = {}
        self.chains: dict[str, int] = {}  # the prefix of each chain's ids → its number, from 1

    def column(self, chain: str, stage: str, panes: Sequence[Code]) -> Sequence[Html]:
        """A note for each pane, unless the column is Python."""
        number = self.chains.setdefault(chain, len(self.chains) + 1)
        if stage == "python":
            return super().column(chain, stage, panes)
        return [self._noted(f"packed{number}-{stage}", pane) for pane in panes]

    def _noted(self, name: str, pane: Code) -> Html:
        parts = self.elements.setdefault(name, [])
        parts.append(content(pane))
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

    def guards(self, table: Html) -> Html:
        """A note instead of the table."""
        name = f"packed-table{len(self.elements)}"
        self.elements[name] = [table]
        return tag("p", _NOTE, class_="tclab-packed", data_packed=name)

    def end(self) -> Html:
        """The elements."""
        return join(_element(name, parts) for name, parts in self.elements.items())


def content(pane: Code) -> object:
    """What the viewer's script makes the pane of."""
    if isinstance(pane, BareCode):
        return [pane.text, pane.noise]
    return pane.lines if isinstance(pane, MarkedCode) else pane.html


def packed(parts: Sequence[object]) -> str:
    """Parts as the viewer's script unpacks them: JSON, gzip, base64."""
    data = json.dumps(parts, ensure_ascii=False, separators=(",", ":")).encode()
    return base64.b64encode(gzip.compress(data, 9, mtime=0)).decode()


def _element(name: str, parts: Sequence[object]) -> Html:
    return script(packed(parts), type="application/gzip", id=name)
