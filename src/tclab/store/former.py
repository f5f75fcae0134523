"""Runs as earlier formats kept them, made into those of this one.

Recordings are committed and come from machines that others lack, so every earlier format is still
read: bytes and digests stay as they are. What changed from one to the next:

- 2: a dataclass is marked by ``$kind``; in format 1 it was any object with the key ``kind``. A
  run has a `capture_key` instead of a `key` over all it depends on.
- 3: a run `rests_on` files instead of having a `capture_key`. The facts of a kernel are values
  (`kernel_facts`), and its `direction` is a field; in format 2 both were words.
"""

from __future__ import annotations

from collections.abc import Callable

from tclab.model import KIND, KINDS, Json
from tclab.store import kernel_facts

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


def _with_facts(data: Json) -> Json:
    """Any data of format 2 in format 3: the facts of kernels, wherever they are, as values."""
    if isinstance(data, list):
        return [_with_facts(item) for item in data]
    if not isinstance(data, dict):
        return data
    upgraded = {name: _with_facts(value) for name, value in data.items()}
    return kernel_facts.upgraded(upgraded) if data.get(KIND) == "kernel" else upgraded


#: From format 1 on, what makes the next format of it.
_RUN: tuple[Callable[[_Object], _Object], ...] = (_run_marked, _run_without_key)
_ARTIFACT: tuple[Callable[[Json], Json], ...] = (_marked, _with_facts)

#: What is written now.
FORMAT = len(_RUN) + 1
