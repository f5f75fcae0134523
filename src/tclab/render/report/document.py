"""A report as one HTML file that stands alone."""

from __future__ import annotations

from tclab.model import Report
from tclab.render import standalone
from tclab.render.options import Options
from tclab.render.report import body, words


def html(shown: Report) -> str:
    """The whole page."""
    return standalone.page(words.title(shown), body.html(shown, Options()))
