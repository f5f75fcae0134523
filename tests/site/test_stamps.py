"""The foot of a page says once what its outputs share."""

from __future__ import annotations

import re
from pathlib import Path

from tclab.site.pages.site import stamps


def stamp(kind: str, *pieces: str) -> str:
    spans = "".join(f"<span>{piece}</span>" for piece in pieces)
    return f'<p class="tclab-stamp tclab-{kind}" data-search-exclude="">{spans}</p>\n'


HERE = ("PyTorch 2.13.0", "an EPYC", "2026-11-28", "0.2 s", "run by this build")
H200 = ("PyTorch 2.11.0", "an H200", "2026-11-21", "12 s", "recorded as h200")


def test_a_single_stamp_stays_where_it_is() -> None:
    html = "<p>text</p>" + stamp("here", *HERE)
    assert stamps.say_once(html) == (html, "")


def test_an_output_says_only_what_differs() -> None:
    equal = stamp("here", *HERE, "the same on PyTorch 2.12.0")
    rows = stamp("here", "computed by this build from rows recorded on an H200", "0.1 s")
    html, foot = stamps.say_once(stamp("here", *HERE) + equal + stamp("recorded", *H200) + rows)
    here, recorded = "the same on PyTorch 2.12.0", "recorded as h200, 2026-11-21"
    assert html == stamp("here", here) + stamp("recorded", recorded) + rows
    first, second = re.findall(r"<p.*?</p>", foot)
    assert "without a stamp" in first and "an EPYC" in first and "2026-11-28" in first
    assert "recorded as h200" in second and "PyTorch 2.11.0" in second and "an H200" in second


def test_two_machines_of_one_name_are_both_named() -> None:
    other = ("PyTorch 2.11.0", "another H200", "2026-11-22", "9 s", "recorded as h200")
    _, foot = stamps.say_once(stamp("recorded", *H200) + stamp("recorded", *other))
    assert "an H200" in foot and "another H200" in foot


def test_no_page_repeats_its_build(site: Path) -> None:
    counts = {}
    for path in site.rglob("*.html"):
        html = path.read_text(encoding="utf-8")
        counts[path.name] = len(re.findall(r"run by this build", html))
        above, _, foot = html.partition('<div class="tclab tclab-stamps"')
        for name in re.findall(r'tclab-recorded"[^>]*><span>recorded as ([\w.-]+),', above):
            assert f"recorded as {name}" in foot, (path.name, name)
    assert max(counts.values()) <= 2 and sum(counts.values()) > 50
