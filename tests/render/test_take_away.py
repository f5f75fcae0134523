"""Long tables can be taken away as CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
import re
from urllib.parse import unquote

from tclab import render
from tclab.model import Table
from tclab.render.kinds import table
from tclab.site.pages.site import markdown_pages

ROWS = [(f'a "{i}", b', i / 3, None) for i in range(table.DOWNLOAD_ROWS)]
LONG = Table("T", "times", columns=("what", "time", ""), rows=ROWS, units=("", "µs"))


def test_csv_is_read_back_as_it_was() -> None:
    head, *rows = csv.reader(io.StringIO(table.csv_text(LONG)))
    assert head == ["what", "time [µs]", "column 3"]
    assert [(row[0], float(row[1]), row[2]) for row in rows] == [(*r[:2], "") for r in ROWS]


def test_a_long_table_has_links_to_both_and_a_short_one_has_none() -> None:
    html = render.html(LONG)
    links = dict(re.findall(r'href="data:([^;]+);charset=utf-8,([^"]*)"', html))
    assert unquote(links["text/csv"]) == table.csv_text(LONG)
    assert json.loads(unquote(links["application/json"]))[1]["time [µs]"] == 1 / 3
    assert 'download="times.csv"' in html
    assert "data:" not in render.html(Table("T", columns=("a",), rows=[(1,)]))


def test_a_head_has_its_unit_in_the_same_way_wherever_it_is_shown() -> None:
    shown = Table("T", "t", columns=("eager", "n"), rows=[(1.5, 2)], units=("µs",))
    html = re.sub(r"<[^>]+>", "", render.html(shown))
    markdown = "\n".join(markdown_pages._table_lines(shown))
    for text in (html, markdown, render.text(shown), table.csv_text(shown)):
        assert "eager [µs]" in text, text
