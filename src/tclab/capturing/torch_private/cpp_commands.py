"""With which command Inductor compiles each C++ file: noted when it writes the command.

A file that was compiled before, in this process or by another, gets its command all the same.
One whose library this process has loaded does not: Inductor finds the library and asks for no
command. So the last commands are kept for captures that come later.
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

#: Text of a C++ file → the command, with the file's own place in it.
Commands = Mapping[str, str]

#: So many are kept, the newest: texts of some KiB each, so a few MiB however long the process
#: lives. A kernel whose command is gone has no instructions in its chain.
MOST_KEPT = 500
_kept: dict[str, str] = {}  # the oldest first
_lock = threading.Lock()  # Inductor compiles in threads, too

#: Called with a file's text and the command that is about to compile it.
Listener = Callable[[str, str], None]
_listeners: list[Listener] = []


@contextmanager
def notifying(listener: Listener) -> Iterator[None]:
    """Within the block `listener` hears of each command that captures note, before it runs."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


@contextmanager
def noting(trace: Trace) -> Iterator[None]:
    """Note commands in `trace` for the length of the block."""
    from torch._inductor.cpp_builder import CppBuilder

    noted = _noted(CppBuilder.__init__, trace)
    with mock.patch.object(CppBuilder, "__init__", noted):
        yield


def commands(trace: Trace) -> Commands:
    """Those noted in a capture, then those of files that were compiled before it."""
    own = {event.payload: event.data for event in trace.named(names.CPP_COMMAND)}
    with _lock:
        return own | {text: command for text, command in _kept.items() if text not in own}


def _noted(original: Callable[..., None], trace: Trace) -> Callable[..., None]:
    @functools.wraps(original)
    def init(
        self: Any, name: object, sources: str | list[str], *args: object, **kwargs: object
    ) -> None:
        original(self, name, sources, *args, **kwargs)
        for source in map(Path, [sources] if isinstance(sources, str) else sources):
            if source.suffix == ".cpp" and source.is_file():
                text, command = source.read_text(encoding="utf-8"), self.get_command_line()
                trace.add(names.CPP_COMMAND, command, text, (None, None))
                _keep(text, command)
                for listener in tuple(_listeners):
                    listener(text, command)

    return init


def _keep(text: str, command: str) -> None:
    with _lock:
        _kept.pop(text, None)  # what is noted again is the newest
        _kept[text] = command
        while len(_kept) > MOST_KEPT:
            del _kept[next(iter(_kept))]
