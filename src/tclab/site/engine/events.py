"""Define the events that the runner reports while it works. They are plain data, which the command
line prints.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tclab.model import Run


@dataclass(frozen=True)
class Event:
    """An event. `snippet` is the name of the snippet concerned; '' if the event is about the
    engine.
    """

    snippet: str = ""


@dataclass(frozen=True)
class Planned(Event):
    """The runner begins: it will run `total` snippets, at most `jobs` at a time."""

    total: int = 0
    jobs: int = 1


@dataclass(frozen=True)
class Warming(Event):
    """The process that snippets are forked from is starting."""


@dataclass(frozen=True)
class WarmedUp(Event):
    """The process that snippets are forked from is ready after `seconds`. If it cannot be used,
    `note` says why.
    """

    seconds: float = 0.0
    note: str = ""


@dataclass(frozen=True)
class Skipped(Event):
    """The snippet was not run: this machine lacks `missing`."""

    missing: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Waiting(Event):
    """Another build is running this snippet."""


@dataclass(frozen=True)
class Reused(Event):
    """Another build has just run the snippet, and this build uses that run."""


@dataclass(frozen=True)
class Started(Event):
    """The snippet's process was started, on `worker` if that is another machine."""

    worker: str = ""


@dataclass(frozen=True)
class Finished(Event):
    """The snippet has ended, on `worker` if that is another machine."""

    run: Run | None = None
    worker: str = ""


@dataclass(frozen=True)
class Remeasured(Event):
    """A timed snippet failed an assert in `run`, so it is measured once more."""

    run: Run | None = None


@dataclass(frozen=True)
class Refused(Event):
    """A worker refused the snippet for the reason `why`; if `worker` is '', no worker can run the
    snippet.
    """

    why: str = ""
    worker: str = ""


@dataclass(frozen=True)
class Rescheduled(Event):
    """The snippet runs again on another worker, because `worker` failed for the reason `why`."""

    worker: str = ""
    why: str = ""


@dataclass(frozen=True)
class SaveFailed(Event):
    """A run could not be saved. The runner raises StoreError at its end."""

    message: str = ""


OnEvent = Callable[[Event], None]


def ignore_event(event: Event) -> None:
    """Do nothing. A caller that wants no events passes this callback."""
