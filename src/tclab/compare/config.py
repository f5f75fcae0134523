"""Read ``compiled.toml``: the functions to compare with their baselines.

[[function]]
name = "model.py:Block"
target = "h200"
backward = true
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tclab.compare.verdict import LEVELS
from tclab.errors import BadRequest
from tclab.model.codec import UNREADABLE

#: Options of `tclab explain` that an entry can set → their types. `tclab upgrade` has the same
#: options.
REQUEST_OPTIONS: Mapping[str, type] = {
    "target": str,
    "backward": bool,
    "inputs": list,
    "options": list,
    "assume": list,
    "long_kernels": bool,
    "eval_mode": bool,
}
_TYPES = {str: "a text", bool: "true or false", list: "a list of texts"}


@dataclass(frozen=True)
class CheckedFunction:
    """A function to check: its name for `tclab explain`, the other options, and the level."""

    name: str
    level: str
    request: Mapping[str, Any] = field(default_factory=dict)


def read_config(path: Path) -> tuple[CheckedFunction, ...]:
    """Return the functions of a file. Raises BadRequest if an entry is wrong."""
    step = 'write [[function]], and below it name = "model.py:Block"'
    if not path.is_file():
        what = "it is no file" if path.exists() else "there is no such file"
        raise BadRequest(str(path), what, step)
    data = _parse_toml(path)
    entries = data.pop("function", None)
    if not isinstance(entries, list) or not entries:
        raise BadRequest(str(path), "it lists no function", step)
    if data:
        raise BadRequest(str(path), f"unknown: {', '.join(data)}", step)
    every = tuple(_read_entry(entry, str(path)) for entry in entries)
    names = [each.name for each in every]
    if twice := [name for name in names if names.count(name) > 1]:
        raise BadRequest(str(path), f"{twice[0]} is there twice", "leave one of them")
    return every


def _read_entry(entry: Mapping[str, Any], place: str) -> CheckedFunction:
    name = entry.get("name") if isinstance(entry, dict) else None
    if not isinstance(name, str):
        raise BadRequest(place, f"a function without a name: {entry}", 'name = "model.py:Block"')
    request = {word: value for word, value in entry.items() if word not in ("name", "level")}
    for word, value in request.items():
        if word not in REQUEST_OPTIONS:
            step = f"one of level, {', '.join(REQUEST_OPTIONS)}"
            raise BadRequest(f"{place}, {name}", f"unknown: {word}", step)
        kind, texts = REQUEST_OPTIONS[word], value if isinstance(value, list) else []
        if not isinstance(value, kind) or not all(isinstance(each, str) for each in texts):
            step = f"give it {_TYPES[kind]}"
            raise BadRequest(f"{place}, {name}", f"{word} = {value!r}", step)
    level = entry.get("level", "kernels" if "target" in request else "graphs")
    if level not in LEVELS:
        raise BadRequest(f"{place}, {name}", f"level = {level!r}", f"one of {', '.join(LEVELS)}")
    return CheckedFunction(_shorten_spelling(name), level, request)


def _shorten_spelling(name: str) -> str:
    """Return the shortest spelling of ``./model.py:Block``, because each spelling would have a
    baseline of its own.
    """
    where, colon, function = name.rpartition(":")
    return f"{os.path.normpath(where)}:{function}" if colon and where else name


def _parse_toml(path: Path) -> dict[str, Any]:
    """Return a TOML file's content; Python before 3.11 needs the package tomli."""
    names = (name for name in ("tomllib", "tomli") if importlib.util.find_spec(name))
    module = next(names, None)
    if module is None:
        raise BadRequest(str(path), "this Python reads no TOML", "pip install tomli")
    toml = importlib.import_module(module)
    try:
        return dict(toml.loads(path.read_text(encoding="utf-8-sig")))
    except UNREADABLE as error:
        raise BadRequest(
            str(path), f"cannot be read: {error}", "see to it that it is TOML"
        ) from error
