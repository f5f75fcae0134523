"""Explain, wait until a file is saved, and explain again."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from tclab.explain import ExplainRequest, load
from tclab.explain.watch import attempt
from tclab.explain.watch.attempt import Attempt, Done, Failed, FilesRead, Message
from tclab.explain.watch.files import PAUSE, WatchedFiles


@dataclass(frozen=True)
class Changed:
    """Files were saved, and the running attempt was ended."""

    paths: tuple[str, ...]


Event = Message | Changed
OnEvent = Callable[[Event], None]


def forever(request: ExplainRequest, on_event: OnEvent) -> None:
    """Call `on_event` with all events until it raises or the user interrupts."""
    processes, watched = attempt.context(), WatchedFiles()
    watched.add(_requested_file(request.spec), since=float("inf"))
    while True:
        running = Attempt(processes, request)
        try:
            changed = _follow(running, watched, on_event) or watched.wait()
        finally:
            running.end()
        on_event(Changed(tuple(changed)))


def _requested_file(spec: str) -> Iterable[str]:
    """Return the path of the file that the request names; nothing if it names a module."""
    where, _ = load.split(spec)
    return [str(Path(where).resolve())] if where.endswith(".py") else []


def _follow(running: Attempt, watched: WatchedFiles, on_event: OnEvent) -> list[str]:
    """Follow a running attempt to its end. If files are saved before that, return them.

    After a failed attempt, new files beside the watched ones count as saved, too.
    """
    read: frozenset[str] = frozenset()
    while not (changed := watched.take_changes()):
        for message in running.messages(PAUSE):
            if isinstance(message, FilesRead):
                read = message.paths
                watched.add(read, running.since)
                continue
            on_event(message)
            if isinstance(message, Done) and read:
                watched.keep(read)
            elif isinstance(message, Failed):
                watched.add(_list_folders(watched.stamps), running.since)
            if isinstance(message, (Done, Failed)):
                return []
    return changed


def _list_folders(paths: Iterable[str]) -> set[str]:
    return {os.path.dirname(path) + os.sep for path in list(paths) if not path.endswith(os.sep)}
