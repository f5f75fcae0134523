"""Model objects as JSON data and back: each dataclass has a kind, its name in stored files.

A dataclass becomes an object with the key ``$kind``. The keys of a mapping that begin with ``$``
get one ``$`` more, so that no key of a user's is taken for a kind, nor for any other mark that
the store makes (``$file``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache, partial
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints, is_typeddict

T = TypeVar("T", bound=type)
S = TypeVar("S")

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

    Unknown kinds and fields are a ValueError, missing fields and values of another type than the
    field has a TypeError: nothing is dropped.
    """
    if isinstance(data, list):
        return tuple(decode(v) for v in data)
    if not isinstance(data, dict):
        return data
    if KIND in data:
        return _decode_object(data)
    return {_plain(k): decode(v) for k, v in data.items()}


def decode_as(hint: Any, data: Json) -> Any:
    """As `decode`, of data that must have this type: ``Mapping[str, str]``, say. TypeError."""
    return _reader(hint)(data)


def decode_fields(cls: Callable[..., S], data: Json) -> S:
    """An object of a dataclass that has no kind, of its fields. Errors as of `decode`."""
    return cls(**_values(cls.__name__, _readers(cls), _of_type(dict, data)))


def _decode_object(data: dict[str, Json]) -> object:
    name = data[KIND]
    cls = KINDS.get(name) if isinstance(name, str) else None
    if cls is None:
        raise ValueError(f"unknown kind {name!r}")
    values = {field: value for field, value in data.items() if field != KIND}
    return cls(**_values(str(name), _readers(cls), values))


def _values(name: str, readers: Mapping[str, Reader], data: Mapping[str, Json]) -> dict[str, Any]:
    """The values of so called fields, each by its reader."""
    if unknown := data.keys() - readers.keys():
        raise ValueError(f"{name}: unknown fields {sorted(unknown)}")
    values = {}
    for field, value in data.items():
        try:
            values[field] = readers[field](value)
        except TypeError as problem:
            raise TypeError(f"{name}.{field}: {problem}") from None
    return values


# --------------------------------------------------------------------------- by type

#: What the type of a field makes of JSON data; TypeError for data of another type.
Reader = Callable[[Any], Any]

_SCALARS: dict[Any, tuple[set[type], str]] = {
    str: ({str}, "text"),
    int: ({int}, "a whole number"),
    float: ({float, int}, "a number"),
    bool: ({bool}, "true or false"),
    NoneType: ({NoneType}, "null"),
    dict: ({dict}, "an object"),
    list: ({list}, "a list"),
}


@cache  # a class each
def _readers(cls: Any) -> dict[str, Reader]:
    """The reader of each field of a dataclass or of a TypedDict."""
    hints = get_type_hints(cls)
    if is_typeddict(cls):
        return {name: _reader(hint) for name, hint in hints.items()}
    made = {f.name: f.metadata[FROM_TEXT] for f in fields(cls) if FROM_TEXT in f.metadata}
    plain = {f.name: _reader(hints[f.name]) for f in fields(cls) if f.name not in made}
    return plain | {name: partial(_from_text, make) for name, make in made.items()}


@cache
def _reader(hint: Any) -> Reader:
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return _of_union(inner)
    if origin is tuple and inner[-1] is ...:
        return _of_many(inner[0])
    if origin is tuple:
        return partial(_of_each, [_reader(one) for one in inner])
    if origin is not None and issubclass(origin, Mapping):
        return partial(_mapping, _plain if inner[0] is str else int, _reader(inner[1]))
    if is_typeddict(hint):
        return lambda data: _values(hint.__name__, _readers(hint), _of_type(dict, data))
    if is_dataclass(hint):
        return partial(_object_of, hint)
    return decode if hint is Any else partial(_of_type, hint)


def _of_type(hint: Any, data: Json) -> Any:
    types, words = _SCALARS[hint]
    if type(data) not in types:
        raise TypeError(f"{_short(data)} is not {words}")
    return data


def _of_union(hints: tuple[Any, ...]) -> Reader:
    """Of texts, numbers and None, and of one more type at most."""
    simple = [hint for hint in hints if hint in _SCALARS]
    types = set[type]().union(*(_SCALARS[hint][0] for hint in simple))
    others = [_reader(hint) for hint in hints if hint not in simple]
    words = " or ".join(_SCALARS[hint][1] for hint in simple)

    def read(data: Json) -> Any:
        if type(data) in types:
            return data
        if not others:
            raise TypeError(f"{_short(data)} is not {words}")
        return others[0](data)

    return read


def _of_many(hint: Any) -> Reader:
    """Of a list whose items all have one type; for texts, of which there are many, at once."""
    read = _reader(hint)

    def many(data: Json) -> tuple[Any, ...]:
        items = _of_type(list, data)
        if hint is str and {*map(type, items)} <= {str}:
            return tuple(items)
        return tuple([read(item) for item in items])

    return many


def _of_each(readers: list[Reader], data: Json) -> tuple[Any, ...]:
    items = _of_type(list, data)
    if len(items) != len(readers):
        raise TypeError(f"{len(items)} values, not {len(readers)}")
    return tuple([read(item) for read, item in zip(readers, items)])


def _mapping(key: Reader, value: Reader, data: Json) -> dict[Any, Any]:
    return {key(k): value(v) for k, v in _of_type(dict, data).items()}


def _object_of(cls: Any, data: Json) -> object:
    """An object of a class that may have others below it, which its kind tells apart."""
    found = decode(data)
    if not isinstance(found, cls):
        raise TypeError(f"{_short(data)} is no {getattr(cls, 'kind', cls.__name__.lower())}")
    return found


def _from_text(make: Callable[[str], Any], data: Json) -> Any:
    return make(_of_type(str, data))


def _short(data: Json) -> str:
    return f"{data!r:.60}"


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
