"""What the runner tells while it works. Plain data: the CLI draws it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tclab.model import Run


@dataclass(frozen=True)
class Event:
    """Something happened to `snippet` (its name; '' for the engine itself)."""

    snippet: str = ""


@dataclass(frozen=True)
class Planned(Event):
    """The runner begins: how many will run, at most how many at once."""

    total: int = 0
    jobs: int = 1


@dataclass(frozen=True)
class Warming(Event):
    """The process that snippets are forked from is starting."""


@dataclass(frozen=True)
class Warm(Event):
    """It is ready, after `seconds`. `note` says why it is not warm, where it is not."""

    seconds: float = 0.0
    note: str = ""


@dataclass(frozen=True)
class Skipped(Event):
    """Not run: this machine lacks `missing`."""

    missing: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Waiting(Event):
    """Another build is running this snippet."""


@dataclass(frozen=True)
class Reused(Event):
    """Another build has just run it; its run is taken."""


@dataclass(frozen=True)
class Started(Event):
    """The snippet's process runs, on `worker` where that is not this machine."""

    worker: str = ""


@dataclass(frozen=True)
class Finished(Event):
    """The snippet's run is there, made by `worker`; `run.ok` says how it went."""

    run: Run | None = None
    worker: str = ""


@dataclass(frozen=True)
class Again(Event):
    """An assert of a snippet that takes times did not hold in `run`: it is measured once more."""

    run: Run | None = None


@dataclass(frozen=True)
class Refused(Event):
    """Not run: no worker fits, and why; or, with `worker`, that one does not."""

    why: str = ""
    worker: str = ""


@dataclass(frozen=True)
class Elsewhere(Event):
    """`worker` was lost under it, or could not do it: it runs again on another."""

    worker: str = ""
    why: str = ""


@dataclass(frozen=True)
class StoreTrouble(Event):
    """A run could not be kept. The runner raises StoreError when all are done."""

    message: str = ""


OnEvent = Callable[[Event], None]


def silent(event: Event) -> None:
    """Tell nobody."""
