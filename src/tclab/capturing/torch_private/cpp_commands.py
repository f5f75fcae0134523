"""With which command Inductor compiles each C++ file: noted when it writes the command.

A file that was compiled before, in this process or by another, gets its command all the same;
one whose library this process has loaded before does not, so what was noted is kept.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from tclab.capturing.torch_private.private import Private

NAMES = (
    Private("torch._inductor.cpp_builder", "CppBuilder.__init__", "commands that compile C++"),
    Private("torch._inductor.cpp_builder", "CppBuilder.get_command_line", "the same"),
)

#: Text of a C++ file → the command, with the file's own place in it.
_commands: dict[str, str] = {}


@contextmanager
def noted() -> Iterator[None]:
    """Note commands for the length of the block."""
    from torch._inductor.cpp_builder import CppBuilder

    with mock.patch.object(CppBuilder, "__init__", _noting(CppBuilder.__init__)):
        yield


def command_of(kernel: str) -> tuple[str, str] | None:
    """The text of the file that `kernel` is in, and the command that compiles it."""
    return next(((text, c) for text, c in _commands.items() if kernel in text), None)


def _noting(original: Any) -> Any:
    @functools.wraps(original)
    def init(self: Any, name: Any, sources: Any, *args: Any, **kwargs: Any) -> None:
        original(self, name, sources, *args, **kwargs)
        for source in map(Path, [sources] if isinstance(sources, str) else sources):
            if source.suffix == ".cpp" and source.is_file():
                _commands[source.read_text(encoding="utf-8")] = self.get_command_line()

    return init
