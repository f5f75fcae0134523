"""A function at several levels: each call stands beside what it becomes at the next one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tclab.render import columns, highlight, parts
from tclab.render.escape import NOTHING, SPACE, Html, esc, join, markup, tag
from tclab.render.options import Options, place

if TYPE_CHECKING:
    from tclab.model import LevelCall, Levels


def summary(levels: Levels) -> str:
    """How many calls there are at each level."""
    return ", ".join(
        f"{level.label}: {parts.count(len(level.calls), 'call')}" for level in levels.levels
    )


def _type(call: LevelCall) -> str:
    """``f32[4, 8]``; nothing where it is not one tensor."""
    return "" if call.shape is None else f"{call.dtype}[{', '.join(call.shape)}]"


def _call(call: LevelCall, above: LevelCall | None, options: Options) -> Html:
    """The operator, large where it is another one than above."""
    same = above is not None and above.operator == call.operator
    where = NOTHING
    if call.location is not None:
        code = highlight.inline(call.location.code)
        where = tag("span", place(call.location, options), SPACE, code, class_="tclab-where")
    kind = tag("span", esc(_type(call)), class_="tclab-type")
    stays = markup(' <span class="tclab-type">stays</span>') if same else NOTHING
    named = join([parts.code(call.operator), stays])
    return tag("div", join([named, kind, where], SPACE), class_="tclab-level-call")


def _tree(
    at: int, call: LevelCall, above: LevelCall | None, levels: Levels, options: Options
) -> Html:
    """A call, and beside it the list of those it becomes."""
    below = levels.below(levels.levels[at].label, call.name)
    inner = [_tree(at + 1, each, call, levels, options) for each in below]
    last = at + 1 == len(levels.levels)
    nothing = NOTHING if last else tag("ol", tag("li", parts.note("nothing is left of it")))
    rest = tag("ol", *inner) if inner else nothing
    return tag("li", _call(call, above, options), rest)


def html(artifact: Levels, options: Options) -> Html:
    """Nested lists, side by side in columns where there is room."""
    if not artifact.levels:
        return parts.note("Nothing was traced.")
    first = artifact.levels[0]
    rows = [_tree(0, call, None, artifact, options) for call in first.calls]
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
    count = parts.note(summary(artifact))
    return join([count, head, tag("ol", *rows, class_="tclab-levels")])


def _rows(at: int, call: LevelCall, levels: Levels) -> list[tuple[str, ...]]:
    """A row a call of the last level; what stands above it is said once."""
    below = levels.below(levels.levels[at].label, call.name)
    rows = [row for each in below for row in _rows(at + 1, each, levels)]
    rows = rows or [("",) * (len(levels.levels) - at - 1)]
    return [(call.operator if i == 0 else "", *row) for i, row in enumerate(rows)]


def text(artifact: Levels) -> str:
    """The same as columns, for a terminal."""
    if not artifact.levels:
        return columns.heading(artifact.title, "nothing was traced")
    rows = [row for call in artifact.levels[0].calls for row in _rows(0, call, artifact)]
    head = [level.label for level in artifact.levels]
    return columns.join(
        columns.heading(artifact.title, summary(artifact)), columns.table(head, rows)
    )
