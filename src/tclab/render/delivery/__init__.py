"""How a page's longest parts reach its reader: the code of stages, long listings, tables of guards.

Whoever draws such a part hands it to the `Delivery` of its options and puts into the page what
comes back. `Delivery` itself leaves every part where it stands; `files` keeps machine code in files
beside the page, `compressed` keeps code and guards as gzip within it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tclab.render.escape import NOTHING, Html

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Code:
    """The code of one pane: `html` is the whole element, `style` has its size."""

    html: Html
    style: str


@dataclass(frozen=True)
class MarkedCode(Code):
    """Code whose `lines` are HTML already."""

    lines: Html


@dataclass(frozen=True)
class BareCode(Code):
    """Code as plain text, which the viewer's script makes lines of.

    `origins` has a text for each line; `noise` says which lines are noise, as distances.
    """

    title: str
    text: str
    origins: Sequence[str]
    noise: str


class Delivery:
    """Everything stands in the page, where it is made."""

    def column(self, chain: str, stage: str, panes: Sequence[Code]) -> Sequence[Html]:
        """The HTML of each pane of one column of a chain, whose ids begin with `chain`."""
        return [pane.html for pane in panes]

    def listing(self, body: Html, title: str, ident: str) -> Html:
        """A folded listing, which stands in the element with the id `ident`."""
        return body

    def guards(self, table: Html) -> Html:
        """A table of guards, which stands in a fold."""
        return table

    def end(self) -> Html:
        """What stands at the end of the page."""
        return NOTHING
