"""Listings: code in some language, a line at a time linkable."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tclab.render import columns, highlight, parts
from tclab.render.escape import clean, tag

if TYPE_CHECKING:
    from tclab.model import Listing
    from tclab.render.options import Options


def code(artifact: Listing, options: Options, *, numbers: bool = False) -> str:
    """The code alone, folded if long."""
    if not artifact.code.strip():
        return parts.note("Empty.")
    body = highlight.block(
        artifact.code,
        artifact.language,
        options,
        first_line=artifact.first_line,
        numbers=numbers,
        label=artifact.title,
        stage=artifact.stage,
    )
    return parts.folded(body, artifact.title, parts.line_count(artifact.code), options)


def html(artifact: Listing, options: Options) -> str:
    """The code under its file name."""
    name = tag("p", parts.code(artifact.filename), class_="tclab-filename")
    return (name if artifact.filename else "") + code(artifact, options)


def text(artifact: Listing) -> str:
    """The title and the code, as it is."""
    head = columns.heading(artifact.title, artifact.filename)
    return columns.join(head, clean(artifact.code).rstrip("\n"))
