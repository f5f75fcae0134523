"""Say once on a page what its outputs share: the versions and the machine of this build and of each
recording.

An output of this build then has no stamp, and a recorded one the name of its recording and the day.
The foot of the page has the rest. A stamp that names the rows it was computed from stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from tclab.render.escape import NEWLINE, NOTHING, Html, esc, join, tag

_STAMP = re.compile(r'<p class="tclab-stamp tclab-(here|recorded)"[^>]*>(.*?)</p>\n?', re.DOTALL)
_PIECE = re.compile(r"<span>(.*?)</span>", re.DOTALL)
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_SECONDS = re.compile(r"[\d.]+ s")
_HERE = "outputs without a stamp were run by this build"
#: Ends what a stamp says of its own run: after it come other runs that showed the same.
_ORIGIN = re.compile(r"run by this build|recorded as (.+)")


def say_once(html: str) -> tuple[str, Html]:
    """Return a page's HTML with what its stamps share removed, and the foot that says it; a page
    with a single stamp is returned as it is.
    """
    if len(_STAMP.findall(html)) < 2:
        return html, NOTHING
    machines: dict[tuple[str, Html], set[str]] = {}
    shortened = _STAMP.sub(lambda stamp: _shorten(stamp, machines), html)
    return shortened, _foot(machines)


def _shorten(stamp: re.Match[str], machines: dict[tuple[str, Html], set[str]]) -> str:
    """Return what a stamp says beyond its machine. Add the machine to `machines`, with the name of
    the recording, '' for this build, and the day.
    """
    pieces = _PIECE.findall(stamp[2])
    place = next((i for i, piece in enumerate(pieces) if _ORIGIN.fullmatch(piece)), None)
    if place is None:
        return stamp[0]
    own, others = pieces[:place], pieces[place + 1 :]
    origin = _ORIGIN.fullmatch(pieces[place])
    name = (origin and origin[1]) or ""
    day = next(filter(_DAY.fullmatch, own), "")
    machine = [piece for piece in own if not (_DAY.fullmatch(piece) or _SECONDS.fullmatch(piece))]
    words = join([tag("span", Html(piece)) for piece in machine])
    machines.setdefault((name, words), set()).add(day)
    said = [*([f"{pieces[place]}, {day}"] if name else []), *others]
    if not said:
        return ""
    spans = (tag("span", Html(piece)) for piece in said)
    return tag("p", *spans, class_=f"tclab-stamp tclab-{stamp[1]}", data_search_exclude="") + "\n"


def _foot(machines: Mapping[tuple[str, Html], set[str]]) -> Html:
    """Return a line for each machine, this build's first."""
    lines = []
    for name, words in sorted(machines):
        days = " and ".join(sorted({*machines[name, words]}))
        kind, start = ("recorded", f"recorded as {name}") if name else ("here", _HERE)
        items = (tag("span", esc(start)), words, tag("span", esc(days)))
        lines.append(tag("p", *items, class_=f"tclab-stamp tclab-{kind}"))
    return tag("div", join(lines, NEWLINE), class_="tclab tclab-stamps", data_search_exclude="")
