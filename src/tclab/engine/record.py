"""Record: run here what others cannot, and keep the results under ``records/<environment>/``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from tclab import snippets
from tclab.engine import events, schedule
from tclab.engine.events import OnEvent
from tclab.engine.plan import Plan
from tclab.errors import RecordingError
from tclab.model import Run, Snippet
from tclab.store import recordings

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")


def record(
    plan: Plan,
    environment: str,
    chosen: Sequence[Snippet] | None = None,
    *,
    force: bool = False,
    on_event: OnEvent = events.silent,
    jobs: int | None = None,
) -> dict[str, Run]:
    """Run what has no fresh recording and record it, each as soon as it is done.

    `chosen` None: every snippet that needs a GPU, and all that the environment has.
    `force`: what is fresh, too. A run cut short goes on where it stopped. The result
    has what was run; a failed run is in it and is not recorded.
    """
    return schedule.run(
        stale(plan, environment, chosen, force=force),
        plan,
        jobs=jobs,
        on_event=on_event,
        environment=environment,
        force=True,
        keep=partial(recordings.write, plan.root, environment),
    )


def stale(
    plan: Plan,
    environment: str,
    chosen: Sequence[Snippet] | None = None,
    *,
    force: bool = False,
) -> list[Snippet]:
    """Those that `record` runs, whichever door they run behind."""
    check_name(environment)
    if chosen is None:
        chosen = [s for s in snippets.find(plan.root) if _belongs(plan, environment, s)]
    return [s for s in chosen if force or not plan.recorded(s, environment).fresh]


def _belongs(plan: Plan, environment: str, snippet: Snippet) -> bool:
    return "cuda" in snippet.needs or plan.recorded(snippet, environment).state != "never"


def check_name(environment: str) -> None:
    """RecordingError for what is no name of an environment."""
    if not _NAME.fullmatch(environment) or environment == "here":
        raise RecordingError(
            environment,
            "is not a name for an environment",
            "take lower case letters, digits, '.', '-' and '_', such as h200-torch2.11",
        )
