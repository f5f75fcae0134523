"""Run snippets on this machine and keep the runs under ``records/<environment>/``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from tclab.errors import RecordingError
from tclab.model import Run, Snippet
from tclab.site import snippets
from tclab.site.engine import events, schedule
from tclab.site.engine.events import OnEvent
from tclab.site.engine.plan import Plan

_ENVIRONMENT_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")


def record(
    plan: Plan,
    environment: str,
    chosen: Sequence[Snippet] | None = None,
    *,
    force: bool = False,
    on_event: OnEvent = events.ignore_event,
    jobs: int | None = None,
) -> dict[str, Run]:
    """Run the snippets without a fresh recording, and record each run as soon as it is made.

    If `chosen` is None, all snippets are run that need a GPU or that the environment has recorded.
    With `force`, snippets with a fresh recording run, too. After an interruption the same call
    continues where it stopped. Returns the runs by snippet. A failed run is not recorded, but kept
    in this machine's store.
    """
    return schedule.run(
        snippets_to_record(plan, environment, chosen, force=force),
        plan,
        jobs=jobs,
        on_event=on_event,
        environment=environment,
        force=True,
        keep=partial(_keep, plan, environment),
    )


def _keep(plan: Plan, environment: str, run: Run) -> None:
    plan.save_recording(environment, run)
    if not run.ok:
        plan.store.save(replace(run, environment="here"))


def snippets_to_record(
    plan: Plan,
    environment: str,
    chosen: Sequence[Snippet] | None = None,
    *,
    force: bool = False,
) -> list[Snippet]:
    """Return the snippets that `record` runs, here or on a cluster."""
    check_environment_name(environment)
    if chosen is None:
        chosen = [s for s in snippets.find(plan.root) if _is_recorded_in(plan, environment, s)]
    return [s for s in chosen if force or not plan.recorded_status(s, environment).fresh]


def _is_recorded_in(plan: Plan, environment: str, snippet: Snippet) -> bool:
    return "cuda" in snippet.needs or plan.recorded_status(snippet, environment).state != "never"


def check_environment_name(environment: str) -> None:
    """Raise RecordingError unless this can be the name of an environment."""
    if not _ENVIRONMENT_NAME.fullmatch(environment) or environment == "here":
        raise RecordingError(
            environment,
            "is not a name for an environment",
            "take lower case letters, digits, '.', '-' and '_', such as h200-torch2.11",
        )
