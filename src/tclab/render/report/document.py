"""A report as one HTML file that stands alone."""

from __future__ import annotations

from tclab.model import Report
from tclab.render import standalone
from tclab.render.options import Options
from tclab.render.report import body, words
from tclab.render.viewer.packed import packed

#: Reports of more characters than this have their stages compressed.
LARGE = 1_000_000


def html(shown: Report) -> str:
    """The whole page."""
    inner = body.html(shown, Options())
    return standalone.page(words.title(shown), packed(inner) if len(inner) > LARGE else inner)
