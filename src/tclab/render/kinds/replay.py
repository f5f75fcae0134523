"""A replay: each call with the cache entries it tried, in order, and how it ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tclab.render import columns, parts
from tclab.render.escape import SPACE, Html, esc, join, markup, tag

if TYPE_CHECKING:
    from tclab.model import Attempt, CachedCall, Replay
    from tclab.render.options import Options


def _ending(call: CachedCall) -> tuple[str, str]:
    """How a call ended: a word for the style sheet, and the words."""
    if call.hit:
        return "hit", f"hit {call.hit}"
    if call.made:
        return "made", f"compiled: {call.made}"
    return "eager", "runs without compiled code"


def summary(replay: Replay) -> str:
    """How many calls hit, and how many were compiled."""
    hits, compiles = sum(bool(c.hit) for c in replay), sum(bool(c.made) for c in replay)
    calls, hit = parts.count(len(replay.calls), "call"), parts.count(hits, "hit")
    rest = len(replay.calls) - hits - compiles
    eager = f", {rest} without compiled code" if rest else ""
    return f"{calls}: {hit}, {compiles} compiled{eager}."


def _attempt(attempt: Attempt) -> Html:
    entry = tag("strong", esc(attempt.entry))
    if not attempt.failed:
        return tag("li", entry, esc(" all guards hold"), class_="tclab-try tclab-try-hit")
    return tag("li", entry, SPACE, parts.code(attempt.failed), class_="tclab-try tclab-try-failed")


def _call(number: int, call: CachedCall) -> Html:
    kind, words = _ending(call)
    attempts = [*map(_attempt, call.attempts)]
    if not call.hit:
        attempts.append(tag("li", esc(words), class_=f"tclab-try tclab-try-{kind}"))
    head = markup("<span>{}</span> {}", number, parts.code(call.call))
    return tag("li", tag("p", head, class_="tclab-call"), tag("ol", *attempts))


def html(artifact: Replay, options: Options) -> Html:
    """A row a call: what it tried, from left to right."""
    if not artifact.calls:
        return parts.note("No calls.")
    rows = [_call(i, call) for i, call in enumerate(artifact, 1)]
    count = parts.note(summary(artifact))
    return join([count, tag("ol", *rows, class_="tclab-replay", id=options.id("calls"))])


def text(artifact: Replay) -> str:
    """The same, for a terminal: a row an entry tried."""
    rows = []
    for call in artifact:
        entries = [(a.entry, a.failed or "all guards hold: hit") for a in call.attempts]
        entries += [] if call.hit else [(call.made or "–", _ending(call)[1])]
        rows += [(call.call if i == 0 else "", *each) for i, each in enumerate(entries)]
    names = ("call", "entry", "guard that failed")
    return columns.join(
        columns.heading(artifact.title, summary(artifact)), columns.table(names, rows)
    )
