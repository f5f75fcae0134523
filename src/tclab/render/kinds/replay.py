"""Render replays: each call with the cache entries that it tried, in order, and the result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tclab.render import columns, parts
from tclab.render.escape import SPACE, Html, esc, join, markup, tag

if TYPE_CHECKING:
    from tclab.model import Attempt, CachedCall, Replay
    from tclab.render.options import Options


def _describe_ending(call: CachedCall) -> tuple[str, str]:
    """Return the result of a call's lookup: a word for the CSS class, and a phrase."""
    if call.hit:
        return "hit", f"hit {call.hit}"
    if call.made:
        return "made", f"compiled: {call.made}"
    return "eager", "runs without compiled code"


def summary(replay: Replay) -> str:
    """Return a sentence with the numbers of calls that hit, compiled, or ran without compiled
    code.
    """
    hits, compiles = sum(bool(call.hit) for call in replay), sum(bool(call.made) for call in replay)
    calls, hit_count = parts.count(len(replay.calls), "call"), parts.count(hits, "hit")
    uncompiled = len(replay.calls) - hits - compiles
    eager = f", {uncompiled} without compiled code" if uncompiled else ""
    return f"{calls}: {hit_count}, {compiles} compiled{eager}."


def _draw_attempt(attempt: Attempt) -> Html:
    entry = tag("strong", esc(attempt.entry))
    if not attempt.failed:
        return tag("li", entry, esc(" all guards hold"), class_="tclab-try tclab-try-hit")
    return tag("li", entry, SPACE, parts.code(attempt.failed), class_="tclab-try tclab-try-failed")


def _draw_call(number: int, call: CachedCall) -> Html:
    kind, words = _describe_ending(call)
    attempts = [*map(_draw_attempt, call.attempts)]
    if not call.hit:
        attempts.append(tag("li", esc(words), class_=f"tclab-try tclab-try-{kind}"))
    head = markup("<span>{}</span> {}", number, parts.code(call.call))
    return tag("li", tag("p", head, class_="tclab-call"), tag("ol", *attempts))


def html(artifact: Replay, options: Options) -> Html:
    """Return a row for each call: the entries that it tried, from left to right."""
    if not artifact.calls:
        return parts.note("No calls.")
    rows = [_draw_call(i, call) for i, call in enumerate(artifact, 1)]
    intro = parts.note(summary(artifact))
    return join([intro, tag("ol", *rows, class_="tclab-replay", id=options.id("calls"))])


def text(artifact: Replay) -> str:
    """Return a table with a row for each entry that a call tried."""
    rows = []
    for call in artifact:
        entries = [
            (attempt.entry, attempt.failed or "all guards hold: hit") for attempt in call.attempts
        ]
        entries += [] if call.hit else [(call.made or "–", _describe_ending(call)[1])]
        rows += [
            (call.call if index == 0 else "", *entry_cells)
            for index, entry_cells in enumerate(entries)
        ]
    names = ("call", "entry", "guard that failed")
    return columns.join(
        columns.heading(artifact.title, summary(artifact)), columns.table(names, rows)
    )
