"""Model objects as JSON and back: nothing a user writes into one is taken for something else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

import pytest

from tclab.model import (
    KINDS,
    Chart,
    Json,
    Kernel,
    KernelFacts,
    Listing,
    Provenance,
    SourceLine,
    Table,
    Text,
    Version,
    decode,
    decode_as,
    decode_fields,
    encode,
    map_texts,
)

KEYS = ("kind", "$kind", "$$kind", "$", "$file", "", "title", "a b", "é → 😀", "0")


MADE: dict[str, Json] = {
    "$kind": "provenance",
    **dict.fromkeys(("torch", "torch_git", "python", "cpu", "system", "date"), ""),
}
RUN: dict[str, Json] = {
    "$kind": "run",
    "snippet": "t/x",
    "environment": "here",
    "source_key": "k",
    "provenance": MADE,
    "seconds": 1,
    "peak_memory": 1,
}
CLAIM: dict[str, Json] = {"$kind": "claim", "name": "c", "line": 1, "code": "assert x"}


def there_and_back(value: object) -> object:
    return decode(json.loads(json.dumps(encode(value))))


@pytest.mark.parametrize("key", KEYS)
def test_any_key_of_a_mapping_comes_back(key: str) -> None:
    chart = Chart("C", "c", x=(1, 2), series={key: (1.0, None), "other": (2, 3)})
    kernel = Kernel("K", "k", "int x;", "cpp", facts=KernelFacts(written={key: "text"}))
    made = Provenance("2.13", "", "3.11", "", "", "", variables={key: "graph"})
    for value in (chart, kernel, made):
        assert there_and_back(value) == value


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_value_that_names_a_kind_is_text(kind: str) -> None:
    kernel = Kernel(facts=KernelFacts(written={"kind": kind, "$kind": kind}))
    assert there_and_back(kernel) == kernel


def test_every_value_comes_back() -> None:
    listing = Listing("L", "l", "x", "text", links={1: ("py:a:1",)}, marks={2: ()})
    table = Table("T", "t", ("a",), ((None,), (1,), (2.5,), (True,), ("x",)))
    kernel = Kernel(source_lines=(SourceLine("a.py", 1),), origins=("add",))
    for value in (listing, table, kernel, Text(text="\u2028 \x00 \\")):
        assert there_and_back(value) == value


def test_labels_of_a_chart_are_text() -> None:
    chart = Chart(x=(1,), series={64: (0.5,)})
    assert dict(chart.series) == {"64": (0.5,)}
    assert there_and_back(chart) == chart


@pytest.mark.parametrize(
    ("data", "error", "says"),
    [
        ({"$kind": "gone"}, ValueError, "unknown kind 'gone'"),
        ({"$kind": ["text"]}, ValueError, "unknown kind"),
        ({"$kind": "text", "colour": 1}, ValueError, r"text: unknown fields \['colour'\]"),
        ({"$kind": "source-line"}, TypeError, "file"),
        ({"$file": "x"}, ValueError, r"unknown mark '\$file'"),
        ({"$kind": "text", "title": 7}, TypeError, r"text\.title: 7 is not text"),
        ({"$kind": "text", "name": None}, TypeError, r"text\.name: None is not text"),
        (RUN | {"seconds": "fast"}, TypeError, r"run\.seconds: 'fast' is not a number"),
        (RUN | {"seconds": True}, TypeError, r"run\.seconds: True is not a number"),
        (RUN | {"peak_memory": 1.5}, TypeError, r"run\.peak_memory: 1.5 is not a whole number"),
        (RUN | {"claims": None}, TypeError, r"run\.claims: None is not a list"),
        (
            RUN | {"claims": [CLAIM | {"held": "false"}]},
            TypeError,
            r"run\.claims: claim\.held: 'fa",
        ),
        (RUN | {"claims": [CLAIM | {"only": 7}]}, TypeError, r"run\.claims: claim\.only: 7 is not"),
        (RUN | {"rests_on": {"a": 1}}, TypeError, r"run\.rests_on: 1 is not text"),
        (
            RUN | {"provenance": {"$kind": "text"}},
            TypeError,
            r"run\.provenance: .* is no provenance",
        ),
        (RUN | {"failure": "none"}, TypeError, r"run\.failure: 'none' is no failure"),
        (RUN | {"provenance": MADE | {"date": "yesterday"}}, ValueError, "'yesterday' is no day"),
        (RUN | {"provenance": MADE | {"date": "9999-12-31"}}, ValueError, "'9999-12-31' is no day"),
        (RUN | {"provenance": MADE | {"date": "2026-02-30"}}, ValueError, "'2026-02-30' is no day"),
        ({"$kind": "table", "rows": [[[1]]]}, TypeError, r"table\.rows: \[1\] is not text or a"),
        ({"$kind": "diff", "labels": ["a"]}, TypeError, r"diff\.labels: 1 values, not 2"),
        ({"$kind": "listing", "links": {"a": []}}, ValueError, "invalid literal"),
    ],
)
def test_what_cannot_be_read_is_an_error(data, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        decode(data)


def test_what_the_rows_above_start_from_can_be_read() -> None:
    assert decode(RUN | {"claims": [CLAIM]}).claims[0].name == "c"


def test_data_of_a_type_that_has_no_kind_is_checked_as_well() -> None:
    assert decode_as(Mapping[str, str], {"a": "b"}) == {"a": "b"}
    assert decode_as(tuple[str | None, ...], ["a", None]) == ("a", None)
    assert decode_fields(Version, {"major": 2, "minor": 13}) == Version(2, 13)
    for hint, data in [(Mapping[str, str], ["a"]), (tuple[str, ...], "ab"), (int | None, "1")]:
        with pytest.raises(TypeError, match="is not "):
            decode_as(hint, data)
    with pytest.raises(ValueError, match=r"Version: unknown fields \['colour'\]"):
        decode_fields(Version, {"major": 2, "minor": 13, "colour": 1})


@dataclass(frozen=True)
class Own(Text):
    """A class of a user's, which no reader knows."""

    more: str = ""


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (Own(more="x"), "cannot store a Own: it has no kind of its own"),
        (object(), "cannot store a object"),
        ({1: "a", "1": "b"}, "two keys of one text"),
        (replace(Text(), text=b"bytes"), "cannot store a bytes"),
    ],
)
def test_what_could_not_be_read_back_is_refused(value: object, says: str) -> None:
    with pytest.raises(TypeError, match=says):
        encode(value)


def test_every_text_of_a_model_object_can_be_changed():
    listing = Listing("a title", "name", "a line\n", links={1: ("a:1",)}, marks={1: ("b:1",)})
    changed = map_texts(listing, lambda text: text.replace("a", "z"))
    assert (changed.title, changed.code) == ("z title", "z line\n")
    assert changed.links == {1: ("z:1",)} and changed.marks == listing.marks
    assert map_texts(listing, str) == listing == decode(encode(listing))
