"""Render listings: code in some language, with an anchor for each line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tclab.render import columns, excerpt, parts, stages
from tclab.render.escape import Html, clean, join, tag

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tclab.model import Listing
    from tclab.render.options import Options

#: Code with more lines than this, and machine code, may be kept outside of the page by its
#: delivery.
MOST_LINES_IN_PAGE = 60


def code_html(artifact: Listing, options: Options, focus: Sequence[excerpt.Range] = ()) -> Html:
    """Return the code without its file name, folded if long. With a `focus` (ranges of lines), only
    the lines outside of it are folded.
    """
    if not artifact.code.strip():
        return parts.note("Empty.")
    lines = parts.line_count(artifact.code)
    if focus and options.fold is None and _count_lines(focus) < lines:
        return _draw_block(artifact, options, focus)
    body = _draw_block(artifact, options, [(artifact.first_line, artifact.first_line + lines - 1)])
    language = stages.language(artifact.stage, artifact.language)
    is_deliverable = artifact.stage in stages.MACHINE or lines > MOST_LINES_IN_PAGE
    if not (is_deliverable and options.folds(lines)):
        return parts.fold_if_long(body, language, lines, options)
    body = options.delivery.deliver_listing(body, artifact.title, options.prefix)
    return parts.fold(parts.size_text(lines, language), body)


def _count_lines(focus: Sequence[excerpt.Range]) -> int:
    return sum(last - first + 1 for first, last in focus)


def _draw_block(artifact: Listing, options: Options, focus: Sequence[excerpt.Range]) -> Html:
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
    """Return the code under its file name."""
    title = [tag("p", parts.code(artifact.filename), class_="tclab-filename")]
    return join([*title * bool(artifact.filename), code_html(artifact, options, focus)])


def text(artifact: Listing) -> str:
    """Return the title and the unchanged code."""
    head = columns.heading(artifact.title, artifact.filename)
    return columns.join(head, clean(artifact.code).rstrip("\n"))
