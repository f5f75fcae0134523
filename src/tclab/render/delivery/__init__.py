"""Decide where the longest parts of a page are kept. These are the code of stages, long listings
and tables of guards.

A renderer passes such a part to the `Delivery` of its options and puts the result into the page.
`Delivery` itself returns every part unchanged; `files` moves machine code to files beside the page;
`compressed` keeps code and guards as gzip in the page.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tclab.render.escape import NOTHING, Html

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Code:
    """The code of one pane. `html` is the whole element; `style` is a CSS style with the element's
    size.
    """

    html: Html
    style: str


@dataclass(frozen=True)
class MarkedCode(Code):
    """Code whose `lines` is the inner HTML, with one element for each line."""

    lines: Html


@dataclass(frozen=True)
class BareCode(Code):
    """Code as plain text, which the viewer's script splits into lines.

    `origins` has a text for each line. `noise` lists the noise lines, each as its distance to the
    previous noise line.
    """

    title: str
    text: str
    origins: Sequence[str]
    noise: str


class Delivery:
    """The default delivery: every part stays at its place in the page."""

    def deliver_column(self, chain: str, stage: str, panes: Sequence[Code]) -> Sequence[Html]:
        """Return the HTML of each pane in a column. `chain` is the prefix of the chain's ids."""
        return [pane.html for pane in panes]

    def deliver_listing(self, body: Html, title: str, ident: str) -> Html:
        """Return the HTML for a folded listing. `ident` is the id of the element around it."""
        return body

    def deliver_guards(self, table: Html) -> Html:
        """Return the HTML for a table of guards, which is in a fold."""
        return table

    def closing_html(self) -> Html:
        """Return HTML for the end of the page."""
        return NOTHING
