"""Print text in any encoding of the terminal or the pipe; keep the output of other code out of
a report on stdout.
"""

from __future__ import annotations

import io
import os
import sys
from typing import TextIO

#: The stream of `own_stdout`, once stdout is reserved.
_RESERVED_STREAMS: list[TextIO] = []


def escape_unencodable_output() -> None:
    """Make stdout and stderr write characters that their encoding lacks as ``\\u2026``."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="backslashreplace")


def reserve_stdout() -> None:
    """Reserve stdout, until the end of this process, for what is written to `own_stdout()`. All
    other output of Python, C or a child process goes to stderr.
    """
    # if stdout or stderr is closed, there is nothing to separate
    if sys.stdout is None or sys.stderr is None:
        return
    shown, other = sys.stdout, sys.stderr
    shown.flush()
    copy = os.fdopen(os.dup(shown.fileno()), "w", encoding=shown.encoding, errors=shown.errors)
    _RESERVED_STREAMS.append(copy)
    os.dup2(other.fileno(), shown.fileno())
    sys.stdout = other


def own_stdout() -> TextIO:
    """Return the stream to stdout for the output of the command itself."""
    return _RESERVED_STREAMS[-1] if _RESERVED_STREAMS else sys.stdout
