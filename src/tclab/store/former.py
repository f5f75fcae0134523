"""Runs as earlier formats kept them, made into those of this one.

Recordings are committed and come from machines that others lack, so every earlier format is still
read: bytes and digests stay as they are. What changed from one to the next:

- 2: a dataclass is marked by ``$kind``; in format 1 it was any object with the key ``kind``. A
  run has a `capture_key` instead of a `key` over all it depends on.
- 3: a run `rests_on` files instead of having a `capture_key`. The facts of a kernel are values
  (`kernel_facts`), and its `direction` is a field; in format 2 both were words. A report has
  numbers (`former_reports`), which were tables.
- 4: the answers with which a GPU gets a kernel are `open`; in format 3 they were `one_of_two`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial

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
    """A report that `tclab explain` saved, of this format or of the two before. ValueError,
    TypeError or KeyError for JSON of another kind.
    """
    data: Json = json.loads(text)
    number = data.pop("format", None) if isinstance(data, dict) else None
    if number not in former_reports.FORMATS:
        return Report.from_json(text)
    return Report.from_data(artifact(data, 2 + former_reports.FORMATS.index(number)))


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


_Upgrade = Callable[[_Object], _Object]


def _upgraded(kinds: Mapping[str, _Upgrade], data: Json) -> Json:
    """Any data with what its objects of these kinds have become, wherever they are."""
    if isinstance(data, list):
        return [_upgraded(kinds, item) for item in data]
    if not isinstance(data, dict):
        return data
    fields = {name: _upgraded(kinds, value) for name, value in data.items()}
    upgrade = kinds.get(str(data.get(KIND)))
    return upgrade(fields) if upgrade else fields


def _open(data: _Object) -> _Object:
    return {"open" if name == "one_of_two" else name: value for name, value in data.items()}


def _as_it_was(run: _Object) -> _Object:
    return run


_VALUES = {"kernel": kernel_facts.upgraded, "report": former_reports.upgraded}
_OPEN = {"kernel-facts": _open, "kernel-row": _open}

#: From format 1 on, what makes the next format of it.
_RUN: tuple[_Upgrade, ...] = (_run_marked, _run_without_key, _as_it_was)
_ARTIFACT: tuple[Callable[[Json], Json], ...] = (
    _marked,
    partial(_upgraded, _VALUES),
    partial(_upgraded, _OPEN),
)

#: What is written now.
FORMAT = len(_RUN) + 1
