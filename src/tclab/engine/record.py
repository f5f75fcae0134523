"""Record: run here what others cannot, and keep the results under ``records/<environment>/``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from tclab import snippets
from tclab.engine import events, schedule
from tclab.engine.events import OnEvent
from tclab.errors import RecordingError
from tclab.model import Run, Snippet
from tclab.store import recordings
from tclab.store.live import Store

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")


def record(
    root: Path,
    environment: str,
    chosen: Sequence[Snippet] | None = None,
    *,
    force: bool = False,
    on_event: OnEvent = events.silent,
    store: Store | None = None,
    jobs: int | None = None,
) -> dict[str, Run]:
    """Run what has no fresh recording and record it, each as soon as it is done.

    `chosen` None: every snippet that needs a GPU, and all that the environment has.
    `force`: what is fresh, too. A run cut short goes on where it stopped. The result
    has what was run; a failed run is in it and is not recorded.
    """
    _check_name(environment)
    if chosen is None:
        chosen = [s for s in snippets.find(root) if _belongs(root, environment, s)]
    stale = [s for s in chosen if force or recordings.state(root, environment, s) != "fresh"]
    return schedule.run(
        stale,
        root=root,
        store=store,
        jobs=jobs,
        on_event=on_event,
        environment=environment,
        force=True,
        keep=partial(recordings.write, root, environment),
    )


def _belongs(root: Path, environment: str, snippet: Snippet) -> bool:
    return "cuda" in snippet.needs or recordings.folder(root, environment, snippet.name).exists()


def _check_name(environment: str) -> None:
    if not _NAME.fullmatch(environment) or environment == "here":
        raise RecordingError(
            environment,
            "is not a name for an environment",
            "take lower case letters, digits, '.', '-' and '_', such as h200-torch2.11",
        )
