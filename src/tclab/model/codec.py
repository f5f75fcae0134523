"""Convert model objects to JSON data and back. Each dataclass has a kind: its name in stored files.

A dataclass becomes an object with the key ``$kind``. A key of a mapping that begins with ``$``
gets one ``$`` more, so that no key of a user is taken for a kind, or for another mark of the
store (``$file``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache, partial
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints, is_typeddict

T = TypeVar("T", bound=type)
S = TypeVar("S")

#: JSON data, as Python's `json` module reads and writes it.
Json = Union[bool, int, float, str, list["Json"], dict[str, "Json"], None]  # noqa: UP007 - recursive

#: The errors that reading one of our files can raise if the file is damaged, of another kind, or
#: hostile.
UNREADABLE = (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError)

KINDS: dict[str, type] = {}
KIND = "$kind"
#: Key in a field's metadata. Its value is the function that parses the stored text; `str` wrote
#: that text.
FROM_TEXT = "from text"


def kind(name: str) -> Callable[[T], T]:
    """Register a dataclass under `name`, its name in stored files."""

    def register(cls: T) -> T:
        cls.kind = name  # type: ignore[attr-defined]
        KINDS[name] = cls
        return cls

    return register


def encode(value: object) -> Json:
    """Return a model object as JSON data. Raises TypeError for a value that `decode` cannot
    restore.
    """
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
    """Return an object of a registered dataclass as a JSON object. Raises TypeError for other
    objects.
    """
    name = getattr(value, "kind", "")
    if not is_dataclass(value) or KINDS.get(name) is not type(value):
        raise TypeError(f"cannot store a {type(value).__name__}: it has no kind of its own")
    data: dict[str, Json] = {KIND: name}
    for f in fields(value):
        data[f.name] = (str if FROM_TEXT in f.metadata else encode)(getattr(value, f.name))
    return data


def _encode_mapping(mapping: Mapping[object, object]) -> dict[str, Json]:
    data = {_escape(str(k)): encode(v) for k, v in mapping.items()}
    if len(data) < len(mapping):
        raise TypeError(f"cannot store a mapping with two keys of one text: {mapping!r:.80}")
    return data


def _escape(key: str) -> str:
    return f"${key}" if key.startswith("$") else key


def _unescape(key: str) -> str:
    """Invert `_escape`. Raises ValueError for a single ``$``: a mark that its writer should have
    removed.
    """
    if key.startswith("$") and not key.startswith("$$"):
        raise ValueError(f"unknown mark {key!r}")
    return key.removeprefix("$")


def decode(data: Json) -> Any:
    """Return the model object that `encode` turned into `data`. Lists become tuples, keys become
    text.

    Unknown kinds and unknown fields raise ValueError. Missing fields and values of a wrong type
    raise TypeError. Nothing is dropped.
    """
    if isinstance(data, list):
        return tuple(decode(v) for v in data)
    if not isinstance(data, dict):
        return data
    if KIND in data:
        return _decode_object(data)
    return {_unescape(k): decode(v) for k, v in data.items()}


def decode_as(hint: Any, data: Json) -> Any:
    """Decode data that must have the type `hint`, such as ``Mapping[str, str]``. Raises TypeError
    for other data.
    """
    return _reader_for(hint)(data)


def decode_fields(cls: Callable[..., S], data: Json) -> S:
    """Make a dataclass object from its encoded fields; its class needs no kind. Raises the errors
    of `decode`.
    """
    return cls(**_read_fields(cls.__name__, _field_readers(cls), _require_type(dict, data)))


def _decode_object(data: dict[str, Json]) -> object:
    name = data[KIND]
    cls = KINDS.get(name) if isinstance(name, str) else None
    if cls is None:
        raise ValueError(f"unknown kind {name!r}")
    values = {field: value for field, value in data.items() if field != KIND}
    return cls(**_read_fields(str(name), _field_readers(cls), values))


def _read_fields(
    name: str, readers: Mapping[str, Reader], data: Mapping[str, Json]
) -> dict[str, Any]:
    """Read the value of each field with the reader for that field. Errors name the class `name`."""
    if unknown := data.keys() - readers.keys():
        raise ValueError(f"{name}: unknown fields {sorted(unknown)}")
    values = {}
    for field, value in data.items():
        try:
            values[field] = readers[field](value)
        except TypeError as problem:
            raise TypeError(f"{name}.{field}: {problem}") from None
    return values


# --------------------------------------------------------------------------- readers by type

#: A function that converts JSON data to a field's type; TypeError for data of another type.
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


@cache  # the cache has one entry for each class
def _field_readers(cls: Any) -> dict[str, Reader]:
    """Return the reader of each field of a dataclass or a TypedDict, by field name."""
    hints = get_type_hints(cls)
    if is_typeddict(cls):
        return {name: _reader_for(hint) for name, hint in hints.items()}
    from_text = {f.name: f.metadata[FROM_TEXT] for f in fields(cls) if FROM_TEXT in f.metadata}
    typed = {f.name: _reader_for(hints[f.name]) for f in fields(cls) if f.name not in from_text}
    return typed | {name: partial(_read_text, make) for name, make in from_text.items()}


@cache
def _reader_for(hint: Any) -> Reader:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return _union_reader(arguments)
    if origin is tuple and arguments[-1] is ...:
        return _list_reader(arguments[0])
    if origin is tuple:
        return partial(_read_fixed_tuple, [_reader_for(item_hint) for item_hint in arguments])
    if origin is not None and issubclass(origin, Mapping):
        return partial(
            _read_mapping, _unescape if arguments[0] is str else int, _reader_for(arguments[1])
        )
    if is_typeddict(hint):
        return lambda data: _read_fields(
            hint.__name__, _field_readers(hint), _require_type(dict, data)
        )
    if is_dataclass(hint):
        return partial(_read_object, hint)
    return decode if hint is Any else partial(_require_type, hint)


def _require_type(hint: Any, data: Json) -> Any:
    types, expected = _SCALARS[hint]
    if type(data) not in types:
        raise TypeError(f"{_shorten(data)} is not {expected}")
    return data


def _union_reader(hints: tuple[Any, ...]) -> Reader:
    """Return a reader for a union of texts, numbers and None with at most one other type."""
    simple = [hint for hint in hints if hint in _SCALARS]
    types = set[type]().union(*(_SCALARS[hint][0] for hint in simple))
    others = [_reader_for(hint) for hint in hints if hint not in simple]
    expected = " or ".join(_SCALARS[hint][1] for hint in simple)

    def read(data: Json) -> Any:
        if type(data) in types:
            return data
        if not others:
            raise TypeError(f"{_shorten(data)} is not {expected}")
        return others[0](data)

    return read


def _list_reader(hint: Any) -> Reader:
    """Return a reader for a list whose items have one type. Lists of texts are checked in one go,
    since they are many.
    """
    read = _reader_for(hint)

    def read_list(data: Json) -> tuple[Any, ...]:
        items = _require_type(list, data)
        if hint is str and {*map(type, items)} <= {str}:
            return tuple(items)
        return tuple([read(item) for item in items])

    return read_list


def _read_fixed_tuple(readers: list[Reader], data: Json) -> tuple[Any, ...]:
    items = _require_type(list, data)
    if len(items) != len(readers):
        raise TypeError(f"{len(items)} values, not {len(readers)}")
    return tuple([read(item) for read, item in zip(readers, items)])


def _read_mapping(key: Reader, value: Reader, data: Json) -> dict[Any, Any]:
    return {key(k): value(v) for k, v in _require_type(dict, data).items()}


def _read_object(cls: Any, data: Json) -> object:
    """Decode an object of `cls` or of a subclass; its kind says which."""
    found = decode(data)
    if not isinstance(found, cls):
        raise TypeError(f"{_shorten(data)} is no {getattr(cls, 'kind', cls.__name__.lower())}")
    return found


def _read_text(make: Callable[[str], Any], data: Json) -> Any:
    return make(_require_type(str, data))


def _shorten(data: Json) -> str:
    return f"{data!r:.60}"


def write_json(value: object, format_: str) -> str:
    """Return an object of a registered dataclass as one JSON object that names its format."""
    return (
        json.dumps({"format": format_, **encode_object(value)}, indent=1, ensure_ascii=False) + "\n"
    )


def read_json(cls: type[S], text: str, format_: str) -> S:
    """Read the text that `write_json` made. Raises ValueError for JSON of another format and
    TypeError for JSON of another class.
    """
    data: Json = json.loads(text)
    if not isinstance(data, dict) or data.pop("format", None) != format_:
        raise ValueError(f"not a {_kind_name(cls)} of the format {format_!r}")
    return decode_kind(cls, data)


def decode_kind(cls: type[S], data: Json) -> S:
    """Decode what `encode` returned for an object of this class. Raises TypeError for other
    data.
    """
    value = decode(data)
    if not isinstance(value, cls):
        raise TypeError(f"it has no {_kind_name(cls)}")
    return value


def _kind_name(cls: type) -> str:
    return str(getattr(cls, "kind", cls.__name__))


def map_texts(value: Any, change: Callable[[str], str], kept: Container[str] = ()) -> Any:
    """Apply `change` to every text in a model object, and to the keys of mappings. Fields with a
    name in `kept` stay as they are.

    This function avoids `encode` and `decode`, because they would be slow: a report of a long
    kernel has millions of texts.
    """
    if isinstance(value, str):
        return change(value)
    if isinstance(value, (tuple, list)):
        items = tuple([map_texts(item, change, kept) for item in value])
        return value if isinstance(value, tuple) and _are_same(value, items) else items
    if isinstance(value, Mapping):
        mapped = {
            map_texts(key, change): map_texts(item, change, kept) for key, item in value.items()
        }
        pairs = (value.keys(), mapped.keys()), (value.values(), mapped.values())
        return value if all(_are_same(*pair) for pair in pairs) else mapped
    if is_dataclass(value) and not isinstance(value, type):
        names = [name for name in _field_names(type(value)) if name not in kept]
        before = [getattr(value, name) for name in names]
        after = [map_texts(item, change, kept) for item in before]
        return value if _are_same(before, after) else replace(value, **dict(zip(names, after)))
    return value


@cache
def _field_names(cls: type[Any]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(cls))


def _are_same(before: Iterable[object], after: Iterable[object]) -> bool:
    """Return whether both have the same objects, so that the old value can be kept."""
    return all(one is other for one, other in zip(before, after))


def slug(text: str) -> str:
    """Make a name for pages and files from a text: lower case, digits, single hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "artifact"
