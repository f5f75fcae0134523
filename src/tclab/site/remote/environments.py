"""Read ``environments.toml``: the environments that a site shows, and how each is recorded.

    ["cpu-torch2.15"]
    torch = "2.15"
    door = "dask"
    snippets = ["graph_breaks/data_dependent_if", "start"]

`door` names the transport by which jobs reach the machine: ``here`` (this machine, if it fits),
``dask`` (the cluster at `on`, else at --on) or ``bundle`` (files). If `snippets` is missing, the
environment has the snippets with recordings in it and, if `gpu` is set, all snippets that need one
GPU.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

from tclab.errors import TclabError
from tclab.model import Snippet
from tclab.site.engine.plan import Plan
from tclab.site.engine.record import check_environment_name, snippets_to_record
from tclab.site.remote import announcements
from tclab.site.remote.client import ClusterAddress, RunRequest

NAME = "environments.toml"

_TRANSPORTS = ("here", "dask", "bundle")
_KEYS = {"torch": str, "gpu": str, "door": str, "on": str, "snippets": list}


@dataclass(frozen=True)
class Environment:
    """One environment that the site shows, as the file describes it."""

    name: str
    door: Literal["here", "dask", "bundle"] = "here"
    torch: str = ""
    gpu: str = ""
    on: str = ""
    snippets: tuple[str, ...] = ()

    def select_snippets(self, plan: Plan, all_snippets: Iterable[Snippet]) -> list[Snippet]:
        """Return the environment's snippets. Raises TclabError if it lists a snippet that does not
        exist.
        """
        all_snippets = list(all_snippets)
        if not self.snippets:
            return [snippet for snippet in all_snippets if self._includes(plan, snippet)]
        chosen = [s for s in all_snippets if s.name in self.snippets or s.topic in self.snippets]
        found = {s.name for s in chosen} | {s.topic for s in chosen}
        if lacking := [name for name in self.snippets if name not in found]:
            cause = f"lists {lacking[0]}, and there is no such snippet or topic"
            raise TclabError(f"{NAME}, {self.name}", cause, "tclab list shows them all")
        return chosen

    def _includes(self, plan: Plan, snippet: Snippet) -> bool:
        needs = snippet.needs if self.gpu else frozenset[str]()
        wants = "cuda" in needs and "two_gpus" not in needs
        return wants or plan.recorded_status(snippet, self.name).state != "never"


def read(root: Path) -> list[Environment]:
    """Read the environments of a project, in order. Raises TclabError if the file is missing or
    wrong.
    """
    try:
        text = (root / NAME).read_text(encoding="utf-8")
    except OSError as error:
        step = "write one: docs, More than one machine, says how"
        raise TclabError(NAME, f"cannot be read: {error.strerror}", step) from None
    try:
        data = _parse_toml(text)
    except ValueError as error:
        raise TclabError(NAME, f"is no TOML: {error}", "mend it") from None
    return [_parse_environment(name, table) for name, table in data.items()]


def _parse_toml(text: str) -> dict[str, object]:
    try:
        import tomllib
    except ModuleNotFoundError:  # Python 3.10 lacks tomllib
        step = "take Python 3.11, or name an environment: tclab record NAME"
        raise TclabError(NAME, "needs Python 3.11 to be read", step) from None
    return tomllib.loads(text)


def _parse_environment(name: str, table: object) -> Environment:
    place = f"{NAME}, {name}"
    check_environment_name(name)
    if not isinstance(table, dict):
        raise TclabError(place, "is no table", f'begin it with ["{name}"]')
    for key, value in table.items():
        if key not in _KEYS or not isinstance(value, _KEYS[key]):
            known = ", ".join(_KEYS)
            raise TclabError(place, f"has {key} = {value!r}", f"it takes {known}")
    if table.get("door", "here") not in _TRANSPORTS:
        raise TclabError(
            place, f"has the door {table['door']!r}", f"one of {', '.join(_TRANSPORTS)}"
        )
    fields = dict(table) | {"snippets": tuple(map(str, table.get("snippets", ())))}
    return Environment(name, **cast("dict[str, str]", fields))  # type: ignore[arg-type]


# --------------------------------------------------------------------------- plans


@dataclass
class EnvironmentPlan:
    """A plan to record an environment.

    `todo` are the environment's stale snippets. `cluster` is the cluster that runs them; None for
    another transport. `blocked` is the reason why they cannot be recorded now; '' if they can.
    """

    environment: Environment
    todo: list[Snippet]
    cluster: ClusterAddress | None = None
    blocked: str = ""

    @property
    def request(self) -> RunRequest:
        """The request to run the stale snippets."""
        environment = self.environment
        return RunRequest(
            self.todo, environment.name, force=True, torch=environment.torch, gpu=environment.gpu
        )


def plan_environments(
    plan: Plan,
    environments: Sequence[Environment],
    all_snippets: list[Snippet],
    cluster: ClusterAddress | None,
    force: bool,
) -> list[EnvironmentPlan]:
    """Return a plan for each environment. `cluster` runs the snippets of environments that name no
    cluster.
    """
    plans = []
    for environment in environments:
        todo = snippets_to_record(
            plan, environment.name, environment.select_snippets(plan, all_snippets), force=force
        )
        own = ClusterAddress(environment.on) if environment.on else cluster
        plans.append(
            EnvironmentPlan(
                environment,
                todo,
                own if environment.door == "dask" else None,
                _explain_blocked(environment, own),
            )
        )
    return plans


def _explain_blocked(environment: Environment, cluster: ClusterAddress | None) -> str:
    """Return why an environment cannot be recorded now; '' if it can."""
    if environment.door == "bundle":
        return f"it takes a bundle: tclab record {environment.name} --bundle {environment.name}.tar"
    if environment.door == "dask":
        return "" if cluster else "it takes a cluster: --on ADDRESS"
    here = announcements.announce([announcements.measure()], 1)
    why = announcements.match_environment(
        here, announcements.Requirements(torch=environment.torch, gpu=environment.gpu)
    )[1]
    return f"this machine is not it: {why}" if why else ""


def group_by_cluster(
    plans: Iterable[EnvironmentPlan],
) -> dict[ClusterAddress, list[EnvironmentPlan]]:
    """Group the plans that a cluster can run now by the cluster."""
    by_cluster: dict[ClusterAddress, list[EnvironmentPlan]] = {}
    for each in plans:
        if each.todo and not each.blocked and each.cluster is not None:
            by_cluster.setdefault(each.cluster, []).append(each)
    return by_cluster
