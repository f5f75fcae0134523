"""Render a report as one self-contained HTML file."""

from __future__ import annotations

from tclab.model import Report
from tclab.render import standalone
from tclab.render.delivery import Delivery
from tclab.render.delivery.compressed import Compressed
from tclab.render.escape import join
from tclab.render.options import Options
from tclab.render.report import body, words

#: Reports with more characters of code and guards than this keep them compressed.
COMPRESSED_FROM = 500_000


def html(report: Report) -> str:
    """Return the report as a page."""
    delivery = Compressed() if _count_characters(report) > COMPRESSED_FROM else Delivery()
    inner = body.html(report, Options(delivery=delivery))
    return standalone.page(words.title(report), join([inner, delivery.closing_html()]))


def _count_characters(report: Report) -> int:
    """Count the characters of all code and of the checks of all guards."""
    code = sum(len(pane.code) for chain in report.chains for pane in chain.panes)
    return code + sum(
        len(check) for guards in report.guards for guard in guards for check in guard.checks
    )
