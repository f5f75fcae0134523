"""Listings: code in some language, a line at a time linkable."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tclab.render import columns, excerpt, parts, stages
from tclab.render.escape import Html, clean, join, tag

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tclab.model import Listing
    from tclab.render.options import Options

#: Code that is folded may come later: machine code, and what has more lines than this.
LATER_LINES = 60


def code(artifact: Listing, options: Options, focus: Sequence[excerpt.Range] = ()) -> Html:
    """The code alone, folded if long; where there is a `focus`, all but that."""
    if not artifact.code.strip():
        return parts.note("Empty.")
    lines = parts.line_count(artifact.code)
    if focus and options.fold is None and _length(focus) < lines:
        return _block(artifact, options, focus)
    body = _block(artifact, options, [(artifact.first_line, artifact.first_line + lines - 1)])
    language = stages.language(artifact.stage, artifact.language)
    later = artifact.stage in stages.MACHINE or lines > LATER_LINES
    if not (later and options.folds(lines)):
        return parts.folded(body, language, lines, options)
    body = options.delivery.listing(body, artifact.title, options.prefix)
    return parts.fold(parts.size(lines, language), body)


def _length(focus: Sequence[excerpt.Range]) -> int:
    return sum(last - first + 1 for first, last in focus)


def _block(artifact: Listing, options: Options, focus: Sequence[excerpt.Range]) -> Html:
    return excerpt.html(
        artifact.code,
        artifact.language,
        options,
        focus,
        first_line=artifact.first_line,
        label=artifact.title,
        stage=artifact.stage,
    )


def html(artifact: Listing, options: Options, focus: Sequence[excerpt.Range] = ()) -> Html:
    """The code under its file name."""
    name = [tag("p", parts.code(artifact.filename), class_="tclab-filename")]
    return join([*name * bool(artifact.filename), code(artifact, options, focus)])


def text(artifact: Listing) -> str:
    """The title and the code, as it is."""
    head = columns.heading(artifact.title, artifact.filename)
    return columns.join(head, clean(artifact.code).rstrip("\n"))
