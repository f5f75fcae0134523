"""Collect warnings of other packages until the report is printed."""

from __future__ import annotations

import io
import logging
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from tclab.text import redaction
from tclab.text.scrub import scrub

#: The packages whose log lines are collected. The user's own log lines are printed at once.
_LOGGERS = ("torch", "triton")


#   W1123 08:04:36.957000 29451 torch/_dynamo/variables/tensor.py:1759] [1/0] Graph break from …
_LOG_PREFIX = re.compile(r"^[A-Z]\d{4} [\d:.]+ \d+ (\S+:\d+)\] (?:\[[^]\n]*\] )?", re.MULTILINE)


def _format_message(text: str) -> str:
    """Return a log record as one message, which has the location once, and no time, thread or
    level.
    """
    place = _LOG_PREFIX.match(text)
    return f"{place[1]}: {_LOG_PREFIX.sub('', text)}" if place else text


class WarningLog(io.TextIOBase):
    """A list of messages without repetitions. The log is a stream, so a log handler can write to
    it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.texts: dict[str, None] = {}

    def write(self, text: str) -> int:
        """Keep one message."""
        if message := redaction.redact_tokens(
            scrub(_format_message(text)), redaction.find_tokens()
        ).strip():
            self.texts[message] = None
        return len(text)

    def showwarning(self, message: Warning | str, category: type[Warning], filename: str,
                    lineno: int, file: object = None, line: str | None = None) -> None:  # fmt: skip
        """Replace `warnings.showwarning`."""
        self.write(f"{filename}:{lineno}: {category.__name__}: {message}")


@contextmanager
def collecting(log: WarningLog) -> Iterator[None]:
    """Collect warnings and PyTorch's log lines in `log` within the block, instead of printing
    them.
    """
    with ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        warnings.showwarning = log.showwarning
        for handler in _find_handlers():
            stack.callback(handler.setStream, handler.stream)
            handler.setStream(log)
        yield


def _find_handlers() -> Iterator[logging.StreamHandler[io.TextIOBase]]:
    """Yield the handlers of PyTorch's loggers that write to the terminal."""
    terminals = (sys.stderr, sys.__stderr__)
    for name in list(logging.root.manager.loggerDict):
        if name.split(".")[0] in _LOGGERS:
            for handler in logging.getLogger(name).handlers:
                if isinstance(handler, logging.StreamHandler) and handler.stream in terminals:
                    yield handler
