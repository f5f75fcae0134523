"""Find the fenced blocks of a Markdown page, with the line each starts on.

The rules are those of pymdownx.superfences, which decides at build time what is a
fence: the closing fence repeats the opening one exactly, and an info string is a
language followed by ``key="value"`` options.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from textwrap import dedent

from tclab.errors import PageError

_OPENING = re.compile(r"^(?P<prefix>[> \t]*)(?P<fence>`{3,}|~{3,})(?P<info>[^`]*)$")
_OPTION = re.compile(
    r"(?P<key>[a-zA-Z][a-zA-Z0-9_]*)(?:=\"(?P<double>[^\"]*)\"|='(?P<single>[^']*)')?"
)
_INFO = re.compile(
    r"[ \t]*\.?(?P<language>[\w#.+-]+)?(?P<options>(?:[ \t]+" + _OPTION.pattern + r")*)[ \t]*"
)
_OFF = {"", "no", "off", "false", "0"}


@dataclass(frozen=True)
class Fence:
    """One fenced block."""

    line: int  # of the opening fence, in the file
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

    @cached_property
    def calls(self) -> tuple[ast.Call, ...]:
        """The calls of its code, outer ones first. SyntaxError where it is not Python."""
        return tuple(n for n in ast.walk(ast.parse(self.code)) if isinstance(n, ast.Call))


def find(text: str, page: str = "", first_line: int = 1) -> Iterator[Fence]:
    """Every outermost fence of `text`, in order. PageError for one that is never closed.

    `first_line` is the line of the file `page` that `text` begins on.
    """
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        opening = _OPENING.match(lines[at])
        if opening:
            fence = _read(lines, at, opening, page, first_line)
            at = fence.end - first_line
            yield fence
        at += 1


def _read(lines: list[str], at: int, opening: re.Match[str], page: str, first_line: int) -> Fence:
    """The fence that `opening` begins, the line at index `at`."""
    place = f"{page}:{first_line + at}"
    language, options = _info(opening["info"], place)
    closing = re.compile(rf"^[> \t]*{re.escape(opening['fence'])}[ \t]*$")
    for end in range(at + 1, len(lines)):
        if closing.match(lines[end]):
            body = [_strip(text, opening["prefix"]) for text in lines[at + 1 : end]]
            code = dedent("\n".join(body))
            return Fence(first_line + at, first_line + end, language, options, code)
    raise PageError(place, "this fence is never closed", f"close it with {opening['fence']}")


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
    options = _OPTION.finditer(match["options"])
    return match["language"] or "", {
        option["key"]: option["double"] or option["single"] or "" for option in options
    }
