"""Render text artifacts verbatim, with colours if the title is the name of a Python file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tclab.render import columns, highlight, parts
from tclab.render.escape import Html, clean

if TYPE_CHECKING:
    from tclab.model import Text
    from tclab.render.options import Options


def html(artifact: Text, options: Options) -> Html:
    """Return the text in a block, folded if long."""
    shown = artifact.text.rstrip()
    if not shown:
        return parts.note("Empty.")
    body = highlight.block(shown, language(artifact), options, anchors=False, label=artifact.title)
    return parts.fold_if_long(body, "", parts.line_count(shown), options)


def language(artifact: Text) -> str:
    """Return the language of the text: ``python`` or ``text``."""
    return "python" if artifact.title.endswith(".py") else "text"


def text(artifact: Text) -> str:
    """Return the title and the text."""
    return columns.join(columns.heading(artifact.title), clean(artifact.text).rstrip("\n"))
