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


def html(report: Report) -> str:
    """The whole page."""
    delivery = Compressed() if _size(report) > LARGE else Delivery()
    inner = body.html(report, Options(delivery=delivery))
    return standalone.page(words.title(report), join([inner, delivery.end()]))


def _size(report: Report) -> int:
    """The characters of all its code and of what its guards check."""
    code = sum(len(pane.code) for chain in report.chains for pane in chain.panes)
    return code + sum(len(check) for guards in report.guards for g in guards for check in g.checks)
