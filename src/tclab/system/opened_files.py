"""Note the files that the processes of a run open to read, in the file ``opened`` of its folder.

An audit hook of Python sees each file that Python opens and each argument of a program that it
starts, but no file that C++ opens by itself. A fork keeps the hook. A path is noted as it was
given, with the working folder of that moment; the engine resolves it.

Dynamo would compile the hook as a frame of the snippet's own, so the hook calls only functions in C
and names itself as part of Python's import system, whose frames Dynamo leaves alone.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

_NAME = "opened"
_SKIPPED_BY_DYNAMO = "<frozen importlib of a run>"
_watched_folders: set[Path] = set()


def watch(folder: Path) -> None:
    """Note from now on what this process and its forks open. `folder` is the run's own."""
    if folder in _watched_folders:
        return
    _watched_folders.add(folder)
    hook = _make_hook(os.fsencode(folder / _NAME), sys.prefix, sys.base_prefix)
    hook.__code__ = hook.__code__.replace(co_filename=_SKIPPED_BY_DYNAMO)
    sys.addaudithook(hook)


def _make_hook(
    notes: bytes,
    *installed: str,
    open_file: Callable[..., int] = os.open,
    write: Callable[[int, bytes], int] = os.write,
    close: Callable[[int], None] = os.close,
    getcwd: Callable[[], str] = os.getcwd,
) -> Callable[[str, tuple[object, ...]], None]:
    """Make the hook. Its functions are bound here, since a snippet may replace those of `os`."""
    seen: set[str] = set()
    not_read, append = os.O_WRONLY, os.O_WRONLY | os.O_APPEND | os.O_CREAT

    def hook(event: str, details: tuple[object, ...]) -> None:
        paths: list[object]
        match event, details:
            case "open", (path, _, int() as flags) if not flags & not_read:
                paths = [path]
            case "subprocess.Popen", (_, [*arguments], _, _):
                paths = arguments
            case _:
                return
        for path in paths:
            if isinstance(path, str) and path not in seen and not path.startswith(installed):
                seen.add(path)
                try:
                    descriptor = open_file(notes, append, 0o600)
                    write(descriptor, f"{getcwd()}\0{path}\n".encode("utf-8", "surrogateescape"))
                    close(descriptor)
                except (OSError, UnicodeError):
                    pass  # the run has removed its folder, or may open no more files

    return hook


def read_notes(folder: Path) -> Iterator[Path]:
    """Yield the paths that the processes of a run opened; some may not be files, or not exist."""
    notes = folder / _NAME
    lines = notes.read_bytes().split(b"\n") if notes.exists() else []
    for line in set(lines):
        working_folder, _, path = os.fsdecode(line).partition("\0")
        yield Path(working_folder, path)
