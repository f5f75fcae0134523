"""What is printed gets through, whatever the encoding of the terminal or the pipe."""

from __future__ import annotations

import io
import sys


def escape_what_cannot_be_written() -> None:
    """Have stdout write characters that its encoding lacks as escapes: ``\\u2026``."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="backslashreplace")
