"""A large report's stages are compressed within its file, and are there when they are opened."""

from __future__ import annotations

import base64
import gzip
import json
import re

import pytest

from tclab import render
from tclab.model import Chain, Listing
from tclab.render.delivery.compressed import Compressed
from tclab.render.options import Options
from tclab.render.report import document

HELD = re.compile(r'<script type="application/gzip" id="([^"]+)">([^<]*)</script>')
#: What a fold's table, a line of a graph and bare machine code begin with.
CODE = ('<table class="tclab-table"', "<t-l", 'class="tclab-lines tclab-bare"')


def held(page: str) -> dict[str, list[object]]:
    """Name → parts, of each compressed element."""
    return {
        name: json.loads(gzip.decompress(base64.b64decode(text)))
        for name, text in HELD.findall(page)
    }


@pytest.fixture
def large(monkeypatch):
    monkeypatch.setattr(document, "COMPRESSED_FROM", 0)


def test_a_small_report_is_plain_and_a_large_one_compressed(broken, monkeypatch):
    plain = document.html(broken)
    assert not HELD.search(plain)
    monkeypatch.setattr(document, "COMPRESSED_FROM", 0)
    small = document.html(broken)
    assert HELD.search(small) and len(small) < len(plain)


def test_all_code_is_held_once_and_python_stays(broken, large):
    page = document.html(broken)
    whole = held(page)
    for number, chain in enumerate(broken.chains, 1):
        for stage in {pane.stage for pane in chain.panes} - {"python"}:
            count = sum(pane.stage == stage and bool(pane.code) for pane in chain.panes)
            assert len(whole[f"packed{number}-{stage}"]) == count
    assert sum("table" in name for name in whole) == sum(map(bool, broken.guards))
    assert page.count("data-src=") == sum(len(v) for k, v in whole.items() if "table" not in k)
    shown = HELD.sub("", page)
    python = re.findall(r'data-stage="python".*?</details>', shown, re.DOTALL)
    assert python and all("<t-l" in pane for pane in python)


def test_bare_text_is_held_as_it_is():
    sass = Listing("S", "s", "a < b\n.loc\nc", "text", "sass", links={1: ("py",)})
    python = Listing("f", "f", "y = x\n", "python", "python", marks={1: ("py",)})
    delivery = Compressed()
    page = render.html(Chain("c", "c", (python, sass)), Options("c", delivery=delivery))
    assert held(delivery.closing_html()) == {"packed1-sass": [["a < b\n.loc\nc", "1"]]}
    assert 'data-code="packed1-sass" data-part="0"' in page and "a &lt; b" not in page
    assert "a < b" not in page and "c</pre>" not in page


#: Opens every fold of the guards, those that come with an opened one too, until so many rows came.
OPENED_ROWS = """count => {
    const guards = document.getElementById("guards").closest("section, details");
    const folds = guards.querySelectorAll("details:not([open])");
    for (const fold of [guards, ...folds]) fold.open = true;
    return guards.querySelectorAll("tbody tr").length >= count;
}"""


@pytest.mark.browser
def test_a_stage_and_the_guards_are_there_when_opened(tab, tmp_path, broken, large):
    path = tmp_path / "report.html"
    path.write_text(document.html(broken), encoding="utf-8")
    opened = tab(1280)
    opened.goto(path.as_uri())
    for stage in ("dynamo", "cpp", "asm"):
        if opened.locator(f"#chain0-{stage}").count():
            opened.evaluate("(id) => { location.hash = id; }", f"chain0-{stage}-L1")
            opened.wait_for_selector(f"#chain0-{stage} t-l")
    lines = opened.locator("#chain0-dynamo t-l").all_text_contents()
    code = next(pane.code for pane in broken.chains[0].panes if pane.stage == "dynamo")
    assert len(lines) == len(code.rstrip("\n").split("\n"))
    opened.wait_for_function(OPENED_ROWS, arg=len(next(filter(None, broken.guards))))
