"""A chapter's head: where it is on the way of a call through the compiler, and its own picture."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest

from tclab.errors import PageError
from tclab.model import Replay
from tclab.site.pages.site import flow, ideas

ROOT = Path(__file__).resolve().parents[2]
CHAPTERS = sorted((ROOT / "docs/pipeline").glob("*.md"))


def bold(html: str) -> list[str]:
    return re.findall(r'aria-current="true">([^<]*)</a>', html)


def test_a_chapter_s_place_is_bold_and_every_place_leads_somewhere() -> None:
    html = flow.strip("guards", "../", "docs/x.md:1")
    assert bold(html) == ["Guards"]
    assert bold(flow.strip(["aotautograd", "inductor"], "", "")) == ["AOTAutograd", "Inductor"]
    for each in (html, flow.way("../")):
        pages = re.findall(r'href="\.\./(.*?)\.html"', each)
        assert len(pages) == len(flow.BOXES)
        assert all((ROOT / "docs" / f"{page}.md").is_file() for page in pages)
    assert flow.strip(None, "", "") == ""
    with pytest.raises(PageError, match="the flow has no 'nothing'"):
        flow.strip("nothing", "", "docs/x.md:1")
    with pytest.raises(PageError, match="there is no picture 'nothing'"):
        ideas.drawing("nothing", lambda _: {}, "", "docs/x.md:1")


def test_boxes_stand_apart_and_within_the_drawing() -> None:
    boxes = list(flow.BOXES.values())
    for box in boxes:
        assert box.x >= 0 and box.x + box.width <= flow.WIDTH
        assert box.y >= 0 and box.y + box.height <= flow.HEIGHT
        for other in boxes:
            beside = box.x + box.width < other.x or other.x + other.width < box.x
            assert box is other or beside or abs(box.y - other.y) > box.height


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_each_chapter_has_its_place_and_its_question_first(site: Path, chapter: Path) -> None:
    html = (site / "pipeline" / f"{chapter.stem}.html").read_text(encoding="utf-8")
    (strip,) = re.findall(r'<nav class="tclab-strip".*?</nav>', html)
    assert bold(strip)
    question = html.index("<blockquote>")
    assert html.index("<h1") < question < html.index(strip) < html.index("<h2")


def words(site: Path, page: str) -> list[str]:
    html = (site / f"{page}.html").read_text(encoding="utf-8")
    (drawn,) = re.findall(r'<figure class="tclab-way".*?</figure>', html, re.DOTALL)
    return [unescape(text) for text in re.findall(r"<text[^>]*>([^<]*)</text>", drawn)]


def test_pictures_have_the_values_of_their_snippets(site: Path) -> None:
    guards = words(site, "pipeline/guards")
    assert guards[:4] == ["x[16]", "0/2", "expected 1,", "actual 16"]
    assert guards[-2:] == ["compiled:", "0/2"]
    shapes = words(site, "pipeline/dynamic-shapes")
    assert shapes.count("compiles") == 2 and "size 5000" in shapes
    assert "l_x_: f32[8]" in shapes and any(re.match(r"l_x_: f32\[s\d+\]", w) for w in shapes)
    graphs = words(site, "pipeline/cuda-graphs")
    assert graphs.count("graphs: 1") == 3 and "kernels: 650" in graphs
    assert any("48.0" in text and "16.0" in text for text in graphs)


def test_four_more_pictures_have_the_values_of_their_snippets(site: Path) -> None:
    cut = words(site, "pipeline/aotautograd")
    assert "mm, permute" in cut and "tangents_1" in cut and cut.count("joint") == 1
    found = words(site, "pipeline/caches")
    assert found[:2] == ["AOTAutograd's cache", "Inductor's cache"]
    assert found[2:5] == ["the same again", "1 hit", "2 hit"] and "2 miss" in found
    copied = words(site, "practice/decoding")
    assert "first token: 8,192 bytes" in copied and copied.count("first token: 0 bytes") == 1
    order = words(site, "practice/several-gpus")
    assert order.count("graph") == 4 + 1 and order.count("") == 5 + 5
    assert order[0].startswith("cut at the buckets")


def test_a_picture_is_not_drawn_from_values_that_do_not_show_it() -> None:
    calls = Replay("No call hits", "replay", ())
    with pytest.raises((ValueError, StopIteration, RuntimeError)):
        ideas.drawing("guards", lambda _: {"replay": calls}, "", "docs/x.md:1")
