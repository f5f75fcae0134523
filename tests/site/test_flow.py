"""The drawing at a chapter's head: where it is on the way of a call through the compiler."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tclab.errors import PageError
from tclab.site.pages.site import flow

ROOT = Path(__file__).resolve().parents[2]
CHAPTERS = sorted((ROOT / "docs/pipeline").glob("*.md"))


def lit(html: str) -> list[str]:
    return re.findall(r'class="tclab-here">.*?<text[^>]*>([^<]*)</text>', html)


def test_a_chapter_s_place_is_lit_and_every_place_leads_somewhere() -> None:
    html = flow.drawing("guards", "../", "docs/x.md:1")
    assert lit(html) == ["Guards"] and "This chapter: Guards." in html
    assert lit(flow.drawing(["aotautograd", "inductor"], "", "")) == ["AOTAutograd", "Inductor"]
    pages = re.findall(r'href="\.\./(.*?)\.html"', html)
    assert len(pages) == len(flow.BOXES)
    assert all((ROOT / "docs" / f"{page}.md").is_file() for page in pages)
    assert flow.drawing(None, "", "") == ""
    with pytest.raises(PageError, match="the flow has no 'nothing'"):
        flow.drawing("nothing", "", "docs/x.md:1")


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
    (drawn,) = re.findall(r'<figure class="tclab-way".*?</figure>', html)
    assert lit(drawn)
    question = html.index("<blockquote>")
    assert html.index("<h1") < question < html.index(drawn) < html.index("<h2")
