"""Find the fenced blocks of a Markdown page, with the line each starts on.

The rules are those of pymdownx.superfences, which decides at build time what is a
fence: the closing fence repeats the opening one exactly, and an info string is a
language followed by ``key="value"`` options.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from textwrap import dedent

from tclab.errors import PageError

_OPENING = re.compile(r"^(?P<prefix>[> \t]*)(?P<fence>`{3,}|~{3,})(?P<info>[^`]*)$")
_OPTION = re.compile(r"(?P<key>[a-zA-Z][a-zA-Z0-9_]*)(?:=(?P<quote>\"|')(?P<value>.*?)(?P=quote))?")
_INFO = re.compile(
    r"[ \t]*\.?(?P<language>[\w#.+-]+)?(?P<options>(?:[ \t]+" + _OPTION.pattern + r")*)[ \t]*"
)
_OFF = {"", "no", "off", "false", "0"}


@dataclass(frozen=True)
class Fence:
    """One fenced block. `line` is the line of the opening fence, from 1."""

    line: int
    end: int  # line of the closing fence
    language: str
    options: Mapping[str, str] = field(default_factory=dict)
    code: str = ""

    @property
    def executed(self) -> bool:
        """Whether markdown-exec runs it at build."""
        return self.on("exec")

    def on(self, option: str) -> bool:
        """Whether a yes/no option is on, as markdown-exec reads it."""
        return self.options.get(option, "").lower() not in _OFF


def find(text: str, page: str = "") -> list[Fence]:
    """Every outermost fence of `text`, in order. PageError for one that is never closed."""
    return list(_fences(text.split("\n"), page))


def _fences(lines: list[str], page: str) -> Iterator[Fence]:
    number = 0
    while number < len(lines):
        opening = _OPENING.match(lines[number])
        number += 1
        if opening:
            fence = _read(lines, number, opening, page)
            number = fence.end
            yield fence


def _read(lines: list[str], line: int, opening: re.Match[str], page: str) -> Fence:
    """The fence whose opening is on `line` (from 1)."""
    language, options = _info(opening["info"], f"{page}:{line}")
    closing = re.compile(rf"^[> \t]*{re.escape(opening['fence'])}[ \t]*$")
    for end in range(line, len(lines)):
        if closing.match(lines[end]):
            body = [_strip(text, opening["prefix"]) for text in lines[line:end]]
            return Fence(line, end + 1, language, options, dedent("\n".join(body)))
    raise PageError(
        f"{page}:{line}", "this fence is never closed", f"close it with {opening['fence']}"
    )


def _strip(text: str, prefix: str) -> str:
    """`text` without the quote marks its fence stands behind; indentation is left to dedent."""
    if ">" not in prefix:
        return text
    return text[len(prefix) :] if text.startswith(prefix) else text.lstrip("> \t")


def _info(info: str, place: str) -> tuple[str, dict[str, str]]:
    match = _INFO.fullmatch(info)
    if match is None:
        raise PageError(
            place,
            f"cannot read the fence's info string {info.strip()!r}",
            'write it as: python exec="1" html="1"',
        )
    found = (m for m in _OPTION.finditer(match["options"]))
    return match["language"] or "", {m["key"]: m["value"] or "" for m in found}
