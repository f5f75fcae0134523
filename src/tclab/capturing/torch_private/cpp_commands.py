"""Note the command with which Inductor compiles each C++ file.

Inductor writes the command even if the compiled file is in its cache on disk. Inductor writes no
command if this process has already loaded the library. So this module keeps the last commands for
later captures.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from tclab.capturing.torch_private.private import Private
from tclab.capturing.trace import names
from tclab.capturing.trace.events import Trace

NAMES = (
    Private("torch._inductor.cpp_builder", "CppBuilder.__init__", "commands that compile C++"),
    Private("torch._inductor.cpp_builder", "CppBuilder.get_command_line", "the same"),
)

#: Text of a C++ file → the command that compiles it, with the file's path.
Commands = Mapping[str, str]

#: The most commands to keep, so that they need a few MiB at most (a text has a few KiB). A kernel
#: whose command was dropped has no instructions in its chain.
MAX_KEPT_COMMANDS = 500
_kept_commands: dict[str, str] = {}  # the oldest first
_lock = threading.Lock()  # Inductor also compiles in threads

#: A function that gets a file's text and the command that will compile it.
Listener = Callable[[str, str], None]
_listeners: list[Listener] = []


@contextmanager
def notify(listener: Listener) -> Iterator[None]:
    """Call `listener` during the block for each noted command, before the command runs."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


@contextmanager
def note_commands(trace: Trace) -> Iterator[None]:
    """Add an event to `trace` for each command that Inductor writes during the block."""
    from torch._inductor.cpp_builder import CppBuilder

    wrapped = _wrap_init(CppBuilder.__init__, trace)
    with mock.patch.object(CppBuilder, "__init__", wrapped):
        yield


def known_commands(trace: Trace) -> Commands:
    """Return the commands noted in `trace`, and the kept commands of files that were compiled
    earlier.
    """
    noted = {event.payload: event.data for event in trace.select(names.CPP_COMMAND)}
    with _lock:
        return noted | {
            text: command for text, command in _kept_commands.items() if text not in noted
        }


def _wrap_init(original: Callable[..., None], trace: Trace) -> Callable[..., None]:
    @functools.wraps(original)
    def init(
        self: Any, name: object, sources: str | list[str], *args: object, **kwargs: object
    ) -> None:
        original(self, name, sources, *args, **kwargs)
        for source in map(Path, [sources] if isinstance(sources, str) else sources):
            if source.suffix == ".cpp" and source.is_file():
                text, command = source.read_text(encoding="utf-8"), self.get_command_line()
                trace.add(names.CPP_COMMAND, command, text, (None, None))
                _keep_command(text, command)
                for listener in tuple(_listeners):
                    listener(text, command)

    return init


def _keep_command(text: str, command: str) -> None:
    with _lock:
        _kept_commands.pop(text, None)  # so that a known text becomes the newest
        _kept_commands[text] = command
        while len(_kept_commands) > MAX_KEPT_COMMANDS:
            del _kept_commands[next(iter(_kept_commands))]
