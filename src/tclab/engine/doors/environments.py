"""``environments.toml``: the environments that a site shows, and by which door each is made.

    ["cpu-torch2.15"]
    torch = "2.15"
    door = "dask"
    snippets = ["graph_breaks/data_dependent_if", "start"]

`door` is ``here`` (this machine, where it is one of those), ``dask`` (the cluster of --on, or of
`on`) or ``bundle``. Without `snippets`: all that the environment has, and, where `gpu` is said, all
that need one GPU.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

from tclab.engine.doors import offers
from tclab.engine.doors.far import Door, Errand
from tclab.engine.plan import Plan
from tclab.engine.record import check_name, stale
from tclab.errors import TclabError
from tclab.model import Snippet

NAME = "environments.toml"

_DOORS = ("here", "dask", "bundle")
_KEYS = {"torch": str, "gpu": str, "door": str, "on": str, "snippets": list}


@dataclass(frozen=True)
class Environment:
    """One that the site shows."""

    name: str
    door: Literal["here", "dask", "bundle"] = "here"
    torch: str = ""
    gpu: str = ""
    on: str = ""
    snippets: tuple[str, ...] = ()

    def chosen(self, plan: Plan, known: Iterable[Snippet]) -> list[Snippet]:
        """The snippets that it shows. TclabError for one that it lists and that is not there."""
        known = list(known)
        if not self.snippets:
            return [snippet for snippet in known if self._has(plan, snippet)]
        chosen = [s for s in known if s.name in self.snippets or s.topic in self.snippets]
        there = {s.name for s in chosen} | {s.topic for s in chosen}
        if lacking := [name for name in self.snippets if name not in there]:
            cause = f"lists {lacking[0]}, and there is no such snippet or topic"
            raise TclabError(f"{NAME}, {self.name}", cause, "tclab list shows them all")
        return chosen

    def _has(self, plan: Plan, snippet: Snippet) -> bool:
        needs = snippet.needs if self.gpu else frozenset[str]()
        wants = "cuda" in needs and "two_gpus" not in needs
        return wants or plan.recorded(snippet, self.name).state != "never"


def read(root: Path) -> list[Environment]:
    """Those of a project, in their order. TclabError for a file that is missing or wrong."""
    try:
        text = (root / NAME).read_text(encoding="utf-8")
    except OSError as error:
        step = "write one: docs, More than one machine, says how"
        raise TclabError(NAME, f"cannot be read: {error.strerror}", step) from None
    try:
        data = _toml(text)
    except ValueError as error:
        raise TclabError(NAME, f"is no TOML: {error}", "mend it") from None
    return [_environment(name, table) for name, table in data.items()]


def _toml(text: str) -> dict[str, object]:
    try:
        import tomllib
    except ModuleNotFoundError:  # Python 3.10
        step = "take Python 3.11, or name an environment: tclab record NAME"
        raise TclabError(NAME, "needs Python 3.11 to be read", step) from None
    return tomllib.loads(text)


def _environment(name: str, table: object) -> Environment:
    place = f"{NAME}, {name}"
    check_name(name)
    if not isinstance(table, dict):
        raise TclabError(place, "is no table", f'begin it with ["{name}"]')
    for key, value in table.items():
        if key not in _KEYS or not isinstance(value, _KEYS[key]):
            known = ", ".join(_KEYS)
            raise TclabError(place, f"has {key} = {value!r}", f"it takes {known}")
    if table.get("door", "here") not in _DOORS:
        raise TclabError(place, f"has the door {table['door']!r}", f"one of {', '.join(_DOORS)}")
    fields = dict(table) | {"snippets": tuple(map(str, table.get("snippets", ())))}
    return Environment(name, **cast("dict[str, str]", fields))  # type: ignore[arg-type]


# --------------------------------------------------------------------------- all of them


@dataclass
class Stand:
    """How an environment stands: what of it is stale, and why that cannot be made now; ''."""

    environment: Environment
    todo: list[Snippet]
    door: Door | None = None
    closed: str = ""

    @property
    def errand(self) -> Errand:
        """What is to be run for it."""
        one = self.environment
        return Errand(self.todo, one.name, force=True, torch=one.torch, gpu=one.gpu)


def stand(
    plan: Plan, every: Sequence[Environment], known: list[Snippet], door: Door | None, force: bool
) -> list[Stand]:
    """What is stale of each, and through which door it can be made."""
    stands = []
    for one in every:
        todo = stale(plan, one.name, one.chosen(plan, known), force=force)
        own = Door(one.on) if one.on else door
        stands.append(Stand(one, todo, own if one.door == "dask" else None, _closed(one, own)))
    return stands


def _closed(one: Environment, door: Door | None) -> str:
    """Why an environment's door is closed; '' where it is open."""
    if one.door == "bundle":
        return f"it takes a bundle: tclab record {one.name} --bundle {one.name}.tar"
    if one.door == "dask":
        return "" if door else "it takes a cluster: --on ADDRESS"
    here = offers.announced([offers.measured()], 1)
    why = offers.lacks(here, offers.Wish(torch=one.torch, gpu=one.gpu))[1]
    return f"this machine is not it: {why}" if why else ""


def errands(plan: Plan, stands: Iterable[Stand]) -> dict[Door, list[Stand]]:
    """Those that go to a cluster, by cluster."""
    by_door: dict[Door, list[Stand]] = {}
    for one in stands:
        if one.todo and not one.closed and one.door is not None:
            by_door.setdefault(one.door, []).append(one)
    return by_door
