"""Escape text from a run for HTML. Everything that a run printed is data.

Besides ``& < > " '`` the characters that Markdown interprets (backtick, tilde) become
entities, so that a fence or a ``--8<--`` in the data stays text when the HTML passes
through Python-Markdown. Control characters become visible symbols (an escape
becomes ``␛``): HTML forbids them, and Python-Markdown uses two of them internally.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NewType

#: HTML that is safe in a page: our own markup, and escaped text. Only the functions below convert a
#: `str` to `Html`, so the type checker finds unescaped text.
Html = NewType("Html", str)

NOTHING = Html("")
SPACE, COMMA = Html(" "), Html(", ")
NEWLINE = Html("\n")

_CONTROL = {c: 0x2400 + c for c in range(0x20) if c not in (0x09, 0x0A)}
# these two separators do not count as line ends in Python's line numbers
_CONTROL |= dict.fromkeys((0x2028, 0x2029), 65533)
_CONTROL |= {0x7F: 0x2421} | dict.fromkeys(range(128, 160), 65533)
_CONTROL |= dict.fromkeys((65534, 65535), 65533)
# Direction overrides can make shown code look different from the code that ran.
_CONTROL |= dict.fromkeys((*range(8234, 8239), *range(8294, 8298)), 65533)
_SURROGATE = re.compile("[\ud800-\udfff]")
_NEWLINE = re.compile("\r\n?")
#: The characters that `clean` and `esc` replace. Most texts have none of them, and a search
#: for them is much faster than `str.translate`.
_UNCLEAN = re.compile(f"[{re.escape(''.join(map(chr, _CONTROL)))}\ud800-\udfff]")

#: The ampersand comes first, since the other entities have one.
_ENTITIES = {
    "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;", "`": "&#96;", "~": "&#126;"
}  # fmt: skip
_SPECIAL = re.compile("[&<>\"'`~]")


def clean(text: str) -> str:
    r"""Return `text` with ``\n`` as its only newline and without control characters."""
    text = str(text)
    if not _UNCLEAN.search(text):
        return text
    text = _NEWLINE.sub("\n", text)
    return _SURROGATE.sub("\ufffd", text).translate(_CONTROL)


def esc(text: object) -> Html:
    """Escape `text` for HTML content or a quoted attribute."""
    cleaned = clean(str(text))
    if _SPECIAL.search(cleaned):
        for character, entity in _ENTITIES.items():  # much faster than `str.translate`
            cleaned = cleaned.replace(character, entity)
    return Html(cleaned)


def allow_breaks(text: str, *patterns: re.Pattern[str]) -> Html:
    """Return `text` as HTML that may break after the first group of each match of `patterns`."""
    html: str = esc(text)
    for pattern in patterns:
        html = pattern.sub(r"\1<wbr>", html)
    return Html(html)


def markup(template: str, *values: Html | int) -> Html:
    """Fill HTML into each ``{}`` of a template. The template must be a literal in our code."""
    return Html(template.format(*values))


def join(pieces: Iterable[Html], between: Html = NOTHING) -> Html:
    """Join pieces of HTML."""
    return Html(between.join(pieces))


def one_line(text: object) -> str:
    """Clean `text` and collapse its white space to single spaces."""
    return " ".join(clean(str(text)).split())


def attributes(**values: object) -> Html:
    """Return the attributes as ` name="value"`. None and False are left out; True gives the
    name only.

    ``class_`` becomes ``class``; an underscore within a name becomes a hyphen.
    """
    pieces = []
    for keyword, value in values.items():
        name = keyword.rstrip("_").replace("_", "-")
        if value is True:
            pieces.append(f" {name}")
        elif value is not None and value is not False:
            pieces.append(f' {name}="{esc(value)}"')
    return Html("".join(pieces))


def tag(name: str, /, *content: Html, **values: object) -> Html:
    """Return an element with its attributes and content."""
    return Html(f"<{name}{attributes(**values)}>{''.join(content)}</{name}>")


def script(text: str, **values: object) -> Html:
    """Return a script element with data, JSON or base64. Its text cannot end the element."""
    safe = text.replace("<", "\\u003c")
    return Html(f"<script{attributes(**values)}>{safe}</script>")


def identifier(text: str) -> Html:
    """Convert `text` to a part of an id: letters, digits, hyphens and underscores."""
    return Html(re.sub(r"[^A-Za-z0-9_-]+", "-", text).strip("-"))
