"""Chains: every stage of one graph, pane after pane."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tclab.render import columns, listing, parts
from tclab.render.escape import clean

if TYPE_CHECKING:
    from tclab.model import Chain
    from tclab.render.options import Options


def html(artifact: Chain, options: Options) -> str:
    """The panes one after the other, each behind its title."""
    if not artifact.panes:
        return parts.note("Nothing was compiled.")
    panes = enumerate(artifact.panes)
    return "".join(parts.fold(p.title, listing.html(p, options.under(i))) for i, p in panes)


def text(artifact: Chain) -> str:
    """The title and the panes."""
    panes = [listing.text(pane) for pane in artifact.panes]
    return columns.join(columns.heading(clean(artifact.title)), "\n\n".join(panes))
