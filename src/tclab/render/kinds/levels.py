"""Render a function at several levels of operators: each call with the calls of the next level that
came from it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tclab.render import columns, highlight, parts
from tclab.render.escape import NOTHING, SPACE, Html, esc, join, markup, tag
from tclab.render.options import Options, place_link

if TYPE_CHECKING:
    from tclab.model import LevelCall, Levels


def summary(levels: Levels) -> str:
    """Count the calls at each level."""
    return ", ".join(
        f"{level.label}: {parts.count(len(level.calls), 'call')}" for level in levels.levels
    )


def _type_text(call: LevelCall) -> str:
    """Return the type of the result, ``f32[4, 8]``; '' if it is not one tensor."""
    return "" if call.shape is None else f"{call.dtype}[{', '.join(call.shape)}]"


def _draw_call(call: LevelCall, above: LevelCall | None, options: Options) -> Html:
    """Draw a call. It is marked if its operator is the same as at the level above."""
    is_same = above is not None and above.operator == call.operator
    place_html = NOTHING
    if call.location is not None:
        code = highlight.inline(call.location.code)
        place_html = tag(
            "span", place_link(call.location, options), SPACE, code, class_="tclab-where"
        )
    type_html = tag("span", esc(_type_text(call)), class_="tclab-type")
    same_note = markup(' <span class="tclab-type">stays</span>') if is_same else NOTHING
    name_html = join([parts.code(call.operator), same_note])
    return tag("div", join([name_html, type_html, place_html], SPACE), class_="tclab-level-call")


def _draw_tree(
    level: int, call: LevelCall, above: LevelCall | None, levels: Levels, options: Options
) -> Html:
    """Draw a call with the list of calls that come from it."""
    calls = levels.calls_below(levels.levels[level].label, call.name)
    children = [_draw_tree(level + 1, child, call, levels, options) for child in calls]
    is_last = level + 1 == len(levels.levels)
    empty_list = NOTHING if is_last else tag("ol", tag("li", parts.note("nothing is left of it")))
    children_html = tag("ol", *children) if children else empty_list
    return tag("li", _draw_call(call, above, options), children_html)


def html(artifact: Levels, options: Options) -> Html:
    """Return nested lists; the style sheet puts the levels into columns."""
    if not artifact.levels:
        return parts.note("Nothing was traced.")
    first_level = artifact.levels[0]
    rows = [_draw_tree(0, call, None, artifact, options) for call in first_level.calls]
    names = (
        tag(
            "div",
            tag("strong", esc(level.label)),
            SPACE,
            esc(parts.count(len(level.calls), "call")),
        )
        for level in artifact.levels
    )
    head = tag("div", *names, class_="tclab-level-names", aria_hidden="true")
    intro = parts.note(summary(artifact))
    return join([intro, head, tag("ol", *rows, class_="tclab-levels")])


def _text_rows(level: int, call: LevelCall, levels: Levels) -> list[tuple[str, ...]]:
    """Return a row for each call of the last level. A call of a higher level is written only in the
    first of its rows.
    """
    calls = levels.calls_below(levels.levels[level].label, call.name)
    rows = [row for child in calls for row in _text_rows(level + 1, child, levels)]
    rows = rows or [("",) * (len(levels.levels) - level - 1)]
    return [(call.operator if i == 0 else "", *row) for i, row in enumerate(rows)]


def text(artifact: Levels) -> str:
    """Return a table with a column for each level."""
    if not artifact.levels:
        return columns.heading(artifact.title, "nothing was traced")
    rows = [row for call in artifact.levels[0].calls for row in _text_rows(0, call, artifact)]
    head = [level.label for level in artifact.levels]
    return columns.join(
        columns.heading(artifact.title, summary(artifact)), columns.table(head, rows)
    )
