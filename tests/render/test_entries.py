"""A table of entries: long ones are text after their first rows, each row knows its height."""

from __future__ import annotations

import re

import pytest

from tclab.model import Table
from tclab.render import entries


def drawn(rows: list[list[str]], **extra: object) -> str:
    table = Table("Settings", "settings", columns=["name", "default"], rows=rows)
    return entries.html(table, entries.EntryNotes(**extra))  # type: ignore[arg-type]


@pytest.mark.parametrize(("number", "at_once"), [(3, 3), (100, 100), (101, 50), (3000, 50)])
def test_a_long_table_is_text_after_its_first_rows(number: int, at_once: int) -> None:
    html = drawn([[f"option_{i}", "False"] for i in range(number)])
    first, _, rest = html.partition("<noscript>")
    ids = [re.findall(r'<tr id="settings-option_(\d+)"', part) for part in (first, rest)]
    assert len(ids[0]) == at_once
    assert [*ids[0], *ids[1]] == [str(i) for i in range(number)]


def lines(html: str) -> list[int]:
    """Return the lines of each row, as its style says."""
    rows = re.findall(r'<tr id="[^"]*"([^>]*)>', html)
    return [int(style[1]) if (style := re.search(r"--lines:(\d+)", row)) else 1 for row in rows]


def test_a_row_knows_how_many_lines_it_has() -> None:
    short, log = ["a", "1"], ["b", "1\n2\n3"]
    assert lines(drawn([short, log, ["c", "x" * 150]])) == [1, 3, 3]
    links = {"a": [("x.html", "A page"), ("y.html", "another page")]}
    assert lines(drawn([short], shown=links)) == [3]  # two of links, which are higher


def test_a_long_text_lies_below_its_row_and_what_follows_it_stays_in_its_column() -> None:
    columns = ["name", "default", "comment", "at"]
    table = Table("Settings", "settings", columns=columns, rows=[["a", "1", "word " * 40, "x.py"]])
    html = entries.html(table, entries.EntryNotes())
    assert re.findall(r'<td style="grid-area:([^"]*)">', html) == [
        "1/1",
        "1/2/auto/4",
        "2/2/auto/-1",
        "1/4",
    ]
    assert lines(html) == [1 + 3]  # of its row, and of the text across the table


@pytest.mark.parametrize(("number", "at_once"), [(4, 4), (5, 3), (9, 3)])
def test_of_a_long_list_the_first_items_are_open(number: int, at_once: int) -> None:
    hints = "\n".join(f"- hint {i}, which takes some words to say" for i in range(number))
    html = drawn([["GB0001", hints]])
    first, _, rest = html.partition("<details")
    assert (first.count("<li>"), rest.count("<li>")) == (at_once, number - at_once)
    assert lines(html) == [1 + at_once + (number > at_once)]
