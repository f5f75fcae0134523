"""A report as one HTML file that stands alone."""

from __future__ import annotations

from tclab.model import Report
from tclab.render import standalone
from tclab.render.delivery import Delivery
from tclab.render.delivery.compressed import Compressed
from tclab.render.escape import join
from tclab.render.options import Options
from tclab.render.report import body, words

#: Reports of more characters of code and guards than this have them compressed.
LARGE = 500_000


def html(shown: Report) -> str:
    """The whole page."""
    delivery = Compressed() if _size(shown) > LARGE else Delivery()
    inner = body.html(shown, Options(delivery=delivery))
    return standalone.page(words.title(shown), join([inner, delivery.end()]))


def _size(shown: Report) -> int:
    """The characters of all its code and of what its guards check."""
    code = sum(len(pane.code) for chain in shown.chains for pane in chain.panes)
    return code + sum(len(check) for guards in shown.guards for g in guards for check in g.checks)
