"""Text from a run as HTML: everything a run printed is data, wherever it is shown.

Besides ``& < > " '`` the characters that Markdown reads (backtick, tilde) become
entities, so that a fence or a ``--8<--`` in the data stays text when the HTML passes
through Python-Markdown. Control characters become their visible pictures (an escape
is ``␛``): they are no HTML, and Python-Markdown marks its own stash with two of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NewType

#: HTML that may stand in a page as it is: markup of our own, and text that was escaped. Only the
#: functions below make it of other strings: a text that was not escaped is an error of type.
Html = NewType("Html", str)

NOTHING = Html("")
SPACE, COMMA = Html(" "), Html(", ")
NEWLINE = Html("\n")

_CONTROL = {c: 0x2400 + c for c in range(0x20) if c not in (0x09, 0x0A)}
_CONTROL |= dict.fromkeys((0x2028, 0x2029), 65533)  # Python counts no lines by them
_CONTROL |= {0x7F: 0x2421} | dict.fromkeys(range(128, 160), 65533)
_CONTROL |= dict.fromkeys((65534, 65535), 65533)
# Direction overrides can make shown code read differently from what ran.
_CONTROL |= dict.fromkeys((*range(8234, 8239), *range(8294, 8298)), 65533)
_SURROGATE = re.compile("[\ud800-\udfff]")
_NEWLINE = re.compile("\r\n?")

_ENTITIES = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"}
    | {"`": "&#96;", "~": "&#126;"}
)  # fmt: skip


def clean(text: str) -> str:
    r"""`text` with one kind of newline (``\n``) and no character a page or terminal obeys."""
    text = _NEWLINE.sub("\n", str(text))
    return _SURROGATE.sub("\ufffd", text).translate(_CONTROL)


def esc(text: object) -> Html:
    """`text` for HTML content or a quoted attribute."""
    return Html(clean(str(text)).translate(_ENTITIES))


def breakable(text: str, *places: re.Pattern[str]) -> Html:
    """`text` as HTML that may be broken behind the first group of each of `places`."""
    html: str = esc(text)
    for pattern in places:
        html = pattern.sub(r"\1<wbr>", html)
    return Html(html)


def markup(template: str, *values: Html | int) -> Html:
    """A template of our own, written out where it is used, with HTML for each ``{}`` in it."""
    return Html(template.format(*values))


def join(pieces: Iterable[Html], between: Html = NOTHING) -> Html:
    """The pieces one after the other."""
    return Html(between.join(pieces))


def one_line(text: object) -> str:
    """`text` cleaned, its white space collapsed."""
    return " ".join(clean(str(text)).split())


def attributes(**values: object) -> Html:
    """` name="value"` for each; None and False are left out, True is the bare name.

    ``class_`` is ``class``; an underscore within a name becomes a hyphen.
    """
    out = []
    for given, value in values.items():
        name = given.rstrip("_").replace("_", "-")
        if value is True:
            out.append(f" {name}")
        elif value is not None and value is not False:
            out.append(f' {name}="{esc(value)}"')
    return Html("".join(out))


def tag(name: str, /, *content: Html, **values: object) -> Html:
    """An element with its content."""
    return Html(f"<{name}{attributes(**values)}>{''.join(content)}</{name}>")


def script(text: str, **values: object) -> Html:
    """An element of data, JSON or base64, in which nothing opens or ends a tag or a comment."""
    safe = text.replace("<", "\\u003c")
    return Html(f"<script{attributes(**values)}>{safe}</script>")


def identifier(text: str) -> Html:
    """`text` as part of an id: letters, digits, hyphens and underscores."""
    return Html(re.sub(r"[^A-Za-z0-9_-]+", "-", text).strip("-"))
