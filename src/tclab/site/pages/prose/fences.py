"""Find the fenced blocks of a Markdown page, with the line on which each starts.

The rules are those of pymdownx.superfences, which the build uses: the closing fence repeats the
opening one exactly, and an info string is a language followed by ``key="value"`` options.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from textwrap import dedent

from tclab.errors import PageError

_OPENING = re.compile(r"^(?P<prefix>[> \t]*)(?P<fence>`{3,}|~{3,})(?P<info>[^`]*)$")
_OPTION = re.compile(
    r"(?P<key>[a-zA-Z][a-zA-Z0-9_]*)(?:=\"(?P<double>[^\"]*)\"|='(?P<single>[^']*)')?"
)
_INFO = re.compile(
    r"[ \t]*\.?(?P<language>[\w#.+-]+)?(?P<options>(?:[ \t]+" + _OPTION.pattern + r")*)[ \t]*"
)
_OFF_VALUES = {"", "no", "off", "false", "0"}


@dataclass(frozen=True)
class Fence:
    """One fenced block."""

    line: int  # line of the opening fence, in the file
    end: int  # line of the closing fence
    language: str
    options: Mapping[str, str] = field(default_factory=dict)
    code: str = ""

    @property
    def is_executed(self) -> bool:
        """Whether markdown-exec runs the fence in a build."""
        return self.is_on("exec")

    def is_on(self, option: str) -> bool:
        """Return whether a yes/no option is on, by markdown-exec's rules."""
        return self.options.get(option, "").lower() not in _OFF_VALUES


def find_fences(text: str, page: str = "", first_line: int = 1) -> Iterator[Fence]:
    """Yield the outermost fences of `text` in order. Raises PageError if one is never closed.

    `first_line` is the line of the file `page` on which `text` begins.
    """
    lines = text.split("\n")
    index = 0
    while index < len(lines):
        opening = _OPENING.match(lines[index])
        if opening:
            fence = _read_fence(lines, index, opening, page, first_line)
            index = fence.end - first_line
            yield fence
        index += 1


def _read_fence(
    lines: list[str], index: int, opening: re.Match[str], page: str, first_line: int
) -> Fence:
    """Read the fence whose opening line is at index `index`."""
    place = f"{page}:{first_line + index}"
    language, options = _parse_info(opening["info"], place)
    closing = re.compile(rf"^[> \t]*{re.escape(opening['fence'])}[ \t]*$")
    for end in range(index + 1, len(lines)):
        if closing.match(lines[end]):
            body = [_strip_quote_marks(text, opening["prefix"]) for text in lines[index + 1 : end]]
            code = dedent("\n".join(body))
            return Fence(first_line + index, first_line + end, language, options, code)
    raise PageError(place, "this fence is never closed", f"close it with {opening['fence']}")


def _strip_quote_marks(text: str, prefix: str) -> str:
    """Remove the ``>`` prefix of a quoted fence; `dedent` removes indentation later."""
    if ">" not in prefix:
        return text
    return text[len(prefix) :] if text.startswith(prefix) else text.lstrip("> \t")


def _parse_info(info: str, place: str) -> tuple[str, dict[str, str]]:
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
