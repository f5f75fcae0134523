"""The functions that a file such as ``compiled.toml`` lists, each held to its file.

[[function]]
name = "model.py:Block"
target = "h200"
backward = true
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tclab.baseline.verdict import LEVELS
from tclab.errors import BadRequest

#: What an entry can say beside its name and level: words of `tclab explain`, and their types.
_WORDS: Mapping[str, type] = {"target": str, "backward": bool, "inputs": list, "options": list,
                              "assume": list}  # fmt: skip


@dataclass(frozen=True)
class Listed:
    """One function: its name as `tclab explain` takes it, what else is asked, and the level."""

    name: str
    level: str
    request: Mapping[str, Any] = field(default_factory=dict)


def read(path: Path) -> tuple[Listed, ...]:
    """The functions of a file. BadRequest for what cannot be."""
    data = _parsed(path)
    entries = data.pop("function", None)
    step = 'write [[function]], and below it name = "model.py:Block"'
    if not isinstance(entries, list) or not entries:
        raise BadRequest(str(path), "it lists no function", step)
    if data:
        raise BadRequest(str(path), f"unknown: {', '.join(data)}", step)
    every = tuple(_entry(entry, str(path)) for entry in entries)
    names = [each.name for each in every]
    if again := [name for name in names if names.count(name) > 1]:
        raise BadRequest(str(path), f"{again[0]} is there twice", "leave one of them")
    return every


def _entry(entry: Mapping[str, Any], place: str) -> Listed:
    name = entry.get("name") if isinstance(entry, dict) else None
    if not isinstance(name, str):
        raise BadRequest(place, f"a function without a name: {entry}", 'name = "model.py:Block"')
    request = {word: value for word, value in entry.items() if word not in ("name", "level")}
    for word, value in request.items():
        if word not in _WORDS:
            step = f"one of level, {', '.join(_WORDS)}"
            raise BadRequest(f"{place}, {name}", f"unknown: {word}", step)
        if not isinstance(value, _WORDS[word]):
            step = f"give it a value of the type {_WORDS[word].__name__}"
            raise BadRequest(f"{place}, {name}", f"{word} = {value!r}", step)
    level = entry.get("level", "kernels" if "target" in request else "graphs")
    if level not in LEVELS:
        raise BadRequest(f"{place}, {name}", f"level = {level!r}", f"one of {', '.join(LEVELS)}")
    return Listed(name, level, request)


def _parsed(path: Path) -> dict[str, Any]:
    """A TOML file, read by Python from 3.11 on, else by tomli where it is there."""
    names = (name for name in ("tomllib", "tomli") if importlib.util.find_spec(name))
    module = next(names, None)
    if module is None:
        raise BadRequest(str(path), "this Python reads no TOML", "pip install tomli")
    toml = importlib.import_module(module)
    try:
        return dict(toml.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise BadRequest(
            str(path), f"cannot be read: {error}", "see to it that it is TOML"
        ) from error
