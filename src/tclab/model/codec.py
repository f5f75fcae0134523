"""Model objects as JSON-able data and back: each dataclass has a kind, its name in stored files."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

T = TypeVar("T", bound=type)

KINDS: dict[str, type] = {}


def kind(name: str) -> Callable[[T], T]:
    """Register a dataclass under the name it has in stored files."""

    def register(cls: T) -> T:
        cls.kind = name  # type: ignore[attr-defined]
        KINDS[name] = cls
        return cls

    return register


def encode(value: Any) -> Any:
    """A model object as JSON-able data; dataclasses carry their kind."""
    if is_dataclass(value) and not isinstance(value, type):
        data = {"kind": getattr(value, "kind")}  # noqa: B009 - set by @kind
        return data | {f.name: encode(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {str(k): encode(v) for k, v in value.items()}
    if isinstance(value, (tuple, list)):
        return [encode(v) for v in value]
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    raise TypeError(f"cannot store a {type(value).__name__}: {value!r:.80}")


def decode(data: Any) -> Any:
    """The inverse of `encode`. Unknown kinds and fields are errors, never dropped."""
    if isinstance(data, list):
        return tuple(decode(v) for v in data)
    if not isinstance(data, dict):
        return data
    if "kind" not in data:
        return {k: decode(v) for k, v in data.items()}
    cls = KINDS.get(data["kind"])
    if cls is None:
        raise ValueError(f"unknown kind {data['kind']!r}")
    known = {f.name for f in fields(cls)}
    unknown = set(data) - known - {"kind"}
    if unknown:
        raise ValueError(f"{data['kind']}: unknown fields {sorted(unknown)}")
    return cls(**{k: decode(v) for k, v in data.items() if k != "kind"})


def slug(text: str) -> str:
    """A name for pages and files: lower case, digits and single hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "artifact"
