"""Read a stack that Python printed, such as a traceback or a node's ``stack_trace``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

#   File "/reader/functions.py", line 59, in calls
_ENTRY = re.compile(r'^(?P<indent> *)File "(?P<file>.+?)", line (?P<line>\d+), in (?P<function>.+)')


@dataclass(frozen=True)
class PrintedFrame:
    """An entry of a printed stack. `code` is '' where Python found no source."""

    file: str
    line: int
    function: str
    code: str = ""


def read_frames(text: str) -> Iterator[PrintedFrame]:
    """Yield the entries in a text in their order, however far they are indented."""
    lines = text.splitlines()
    for line, following in zip(lines, [*lines[1:], ""]):
        if match := _ENTRY.match(line):
            is_code = following.startswith(f"{match['indent']} ") and not _ENTRY.match(following)
            code = following.strip() if is_code else ""
            yield PrintedFrame(match["file"], int(match["line"]), match["function"], code)
