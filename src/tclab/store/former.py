"""Runs as earlier formats kept them, made into those of this one.

Recordings are committed and come from machines that others lack, so every earlier format is still
read: bytes and digests stay as they are. What changed from one to the next:

- 2: a dataclass is marked by ``$kind``; in format 1 it was any object with the key ``kind``. A
  run has a `capture_key` instead of a `key` over all it depends on.
- 3: a run `rests_on` files instead of having a `capture_key`. The facts of a kernel are values
  (`kernel_facts`), and its `direction` is a field; in format 2 both were words. A report has
  numbers (`former_reports`), which were tables.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from tclab.model import KIND, KINDS, Json, Report
from tclab.store import former_reports, kernel_facts

_Object = dict[str, Json]


def run(data: _Object, number: int) -> _Object:
    """The run of a ``run.json`` of format `number`, in this format."""
    for upgrade in _RUN[number - 1 :]:
        data = upgrade(data)
    return data


def artifact(data: Json, number: int) -> Json:
    """An artifact of format `number` in this format."""
    for upgrade in _ARTIFACT[number - 1 :]:
        data = upgrade(data)
    return data


def report(text: str) -> Report:
    """A report that `tclab explain` saved, of this format or of the one before. ValueError,
    TypeError or KeyError for JSON of another kind.
    """
    data: Json = json.loads(text)
    if not isinstance(data, dict) or data.pop("format", None) != former_reports.FORMAT:
        return Report.from_json(text)
    return Report.from_data(_with_values(data))


def _marked(data: Json) -> Json:
    """Any data of format 1 in format 2: kinds are marked, users' keys escaped."""
    if isinstance(data, list):
        return [_marked(item) for item in data]
    if not isinstance(data, dict):
        return data
    if data.get("kind") in KINDS:
        fields = {name: _marked(value) for name, value in data.items() if name != "kind"}
        return {KIND: data["kind"], **fields}
    return {f"${k}" if k.startswith("$") else k: _marked(value) for k, value in data.items()}


def _run_marked(data: _Object) -> _Object:
    marked = _marked({name: value for name, value in data.items() if name != "key"})
    assert isinstance(marked, dict)
    return marked


def _run_without_key(data: _Object) -> _Object:
    return {name: value for name, value in data.items() if name != "capture_key"}


def _with_values(data: Json) -> Json:
    """Any data of format 2 in format 3: kernels and reports, wherever they are, with values."""
    if isinstance(data, list):
        return [_with_values(item) for item in data]
    if not isinstance(data, dict):
        return data
    upgraded = {name: _with_values(value) for name, value in data.items()}
    upgrade = _UPGRADE.get(str(data.get(KIND)))
    return upgrade(upgraded) if upgrade else upgraded


_UPGRADE: dict[str, Callable[[_Object], _Object]] = {
    "kernel": kernel_facts.upgraded,
    "report": former_reports.upgraded,
}

#: From format 1 on, what makes the next format of it.
_RUN: tuple[Callable[[_Object], _Object], ...] = (_run_marked, _run_without_key)
_ARTIFACT: tuple[Callable[[Json], Json], ...] = (_marked, _with_values)

#: What is written now.
FORMAT = len(_RUN) + 1
