"""Runs as the format before this one kept them, made into those of this one.

Recordings are committed and come from machines that others lack, so the last format is still
read: bytes and digests stay as they are. In format 1 a dataclass was any object with the key
``kind``, and a run had a `key` over all it depended on instead of that of the capture code.
"""

from __future__ import annotations

from tclab.model import KIND, KINDS, Json

FORMAT = 1


def run(data: dict[str, Json]) -> dict[str, Json]:
    """The run of a ``run.json`` of format 1, in this format."""
    rest = {name: value for name, value in data.items() if name != "key"}
    upgraded = artifact(rest | {"capture_key": ""})
    assert isinstance(upgraded, dict)
    return upgraded


def artifact(data: Json) -> Json:
    """Any data of format 1 in this format: kinds are marked, users' keys escaped."""
    if isinstance(data, list):
        return [artifact(item) for item in data]
    if not isinstance(data, dict):
        return data
    if data.get("kind") in KINDS:
        fields = {name: artifact(value) for name, value in data.items() if name != "kind"}
        return {KIND: data["kind"], **fields}
    return {f"${k}" if k.startswith("$") else k: artifact(value) for k, value in data.items()}
