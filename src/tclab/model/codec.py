"""Model objects as JSON data and back: each dataclass has a kind, its name in stored files.

A dataclass becomes an object with the key ``$kind``. The keys of a mapping that begin with ``$``
get one ``$`` more, so that no key of a user's is taken for a kind, nor for any other mark that
the store makes (``$file``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar, Union

T = TypeVar("T", bound=type)

#: JSON as Python's `json` reads and writes it.
Json = Union[bool, int, float, str, list["Json"], dict[str, "Json"], None]  # noqa: UP007 - recursive

KINDS: dict[str, type] = {}
KIND = "$kind"
#: In a field's metadata: what makes the field's value of the text that is stored; `str` made it.
FROM_TEXT = "from text"


def kind(name: str) -> Callable[[T], T]:
    """Register a dataclass under the name it has in stored files."""

    def register(cls: T) -> T:
        cls.kind = name  # type: ignore[attr-defined]
        KINDS[name] = cls
        return cls

    return register


def encode(value: object) -> Json:
    """A model object as JSON data. TypeError for what `decode` could not give back."""
    if is_dataclass(value) and not isinstance(value, type):
        return encode_object(value)
    if isinstance(value, Mapping):
        return _encode_mapping(value)
    if isinstance(value, (tuple, list)):
        return [encode(v) for v in value]
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    raise TypeError(f"cannot store a {type(value).__name__}: {value!r:.80}")


def encode_object(value: object) -> dict[str, Json]:
    """As `encode`, of a dataclass that has a kind of its own."""
    name = getattr(value, "kind", "")
    if not is_dataclass(value) or KINDS.get(name) is not type(value):
        raise TypeError(f"cannot store a {type(value).__name__}: it has no kind of its own")
    data: dict[str, Json] = {KIND: name}
    for f in fields(value):
        data[f.name] = (str if FROM_TEXT in f.metadata else encode)(getattr(value, f.name))
    return data


def _encode_mapping(mapping: Mapping[object, object]) -> dict[str, Json]:
    data = {_escaped(str(k)): encode(v) for k, v in mapping.items()}
    if len(data) < len(mapping):
        raise TypeError(f"cannot store a mapping with two keys of one text: {mapping!r:.80}")
    return data


def _escaped(key: str) -> str:
    return f"${key}" if key.startswith("$") else key


def _plain(key: str) -> str:
    """The inverse of `_escaped`. A single ``$`` is a mark, which whoever made it takes out."""
    if key.startswith("$") and not key.startswith("$$"):
        raise ValueError(f"unknown mark {key!r}")
    return key.removeprefix("$")


def decode(data: Json) -> Any:
    """The inverse of `encode`; lists come back as tuples, keys as text.

    Unknown kinds and fields are a ValueError, missing fields a TypeError: nothing is dropped.
    """
    if isinstance(data, list):
        return tuple(decode(v) for v in data)
    if not isinstance(data, dict):
        return data
    if KIND in data:
        return _decode_object(data)
    return {_plain(k): decode(v) for k, v in data.items()}


def _decode_object(data: dict[str, Json]) -> object:
    name = data[KIND]
    cls = KINDS.get(name) if isinstance(name, str) else None
    if cls is None:
        raise ValueError(f"unknown kind {name!r}")
    readers = {f.name: f.metadata.get(FROM_TEXT, decode) for f in fields(cls)}
    if unknown := set(data) - set(readers) - {KIND}:
        raise ValueError(f"{name}: unknown fields {sorted(unknown)}")
    return cls(**{k: readers[k](v) for k, v in data.items() if k != KIND})


def mapped(value: Any, change: Callable[[str], str]) -> Any:
    """A model object with `change` of every text in it, the keys of mappings too.

    Not by way of `encode` and `decode`: a report of a long kernel has millions of texts.
    """
    if isinstance(value, str):
        return change(value)
    if isinstance(value, (tuple, list)):
        return tuple([mapped(each, change) for each in value])
    if isinstance(value, Mapping):
        return {mapped(key, change): mapped(each, change) for key, each in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        own = {f.name: mapped(getattr(value, f.name), change) for f in fields(value)}
        return replace(value, **own)
    return value


def slug(text: str) -> str:
    """A name for pages and files: lower case, digits and single hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "artifact"
