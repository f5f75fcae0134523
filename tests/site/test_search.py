"""The search: what its index holds, and what a reader finds with it, also without a server."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tclab.render import Keyword, parts
from tclab.render.escape import esc
from tclab.site.pages.rendering import Page
from tclab.site.pages.site import search_names, search_text
from tests.site.conftest import HELLO, NAV, unpacked

LIMIT = 720_000  # bytes: the first search loads it, a third of it where a server compresses


def index(site: Path) -> list[dict[str, str]]:
    return json.loads((site / "search/search_index.json").read_text(encoding="utf-8"))["docs"]


# --------------------------------------------------------------------------- the index


def test_the_index_stays_small(site: Path) -> None:
    assert 100_000 < (site / "search/search_index.json").stat().st_size <= LIMIT


def code_words(site: Path) -> list[tuple[str, str, str, str]]:
    """(stage, word, line, address) of each word of code that the search finds."""
    text = (site / "search/names.js").read_text(encoding="utf-8")
    groups = unpacked(text)
    return [(group["title"], *entry) for group in groups if "code" in group
            for entry in group["entries"]]  # fmt: skip


def test_listings_are_left_out_and_their_words_kept(site: Path) -> None:
    words = {(word, stage) for stage, word, _, _ in code_words(site)}
    assert {("FFMA", "SASS"), ("LDG.E.128", "SASS"), ("tt.load", "TTIR")} <= words
    assert ("ld.global.v4.b32", "PTX") in words
    assert any(word.startswith("triton_per_fused__softmax") for word, _ in words)
    text = "".join(entry["text"] for entry in index(site))
    assert ".headerflags" not in text and "source_filename" not in text  # of SASS, of LLVM IR


def test_a_word_leads_to_the_line_it_shows(site: Path) -> None:
    """The anchor is on the page, or on the file that the page loads when it is opened."""
    seen = 0
    for stage, *entry in code_words(site):
        if stage != "SASS":
            continue
        page, anchor = entry[-1].split("#")
        html = (site / page).read_text(encoding="utf-8")
        line = re.sub(r"-L\d+$", "", anchor)
        aside = site / page.removesuffix(".html") / f"{line}.html"
        if aside.exists():
            html = aside.read_text(encoding="utf-8")
        # A chain's machine code has no elements before the script has made them.
        assert (
            f"id={anchor}" in html
            or f'id="{anchor}"' in html
            or f"id={line}" in html
            or (f'id="{line}"' in html and "tclab-away" in html)
        ), entry
        seen += 1
    assert seen > 100


NESTED = """<h1 id="a">Title</h1><p>before</p>
<div data-search-exclude=""><div><p>inside</p></div><br><img src="x"><p>still &lt;inside</p></div>
<p>after &amp; more</p><p data-search-exclude="">gone</p>"""


def test_an_excluded_element_is_left_out_whole() -> None:
    pruned = search_text.searchable_html(NESTED)
    assert "inside" not in pruned and "gone" not in pruned
    assert pruned.startswith('<h1 id="a">Title</h1><p>before</p>')
    assert "<p>after &amp; more</p>" in pruned


def test_only_a_page_that_answers_questions_has_them_in_its_entry() -> None:
    entries: list[dict[str, object]] = [{"location": "a.html"}, {"location": "a.html#b"}]
    search_text.add_questions(entries, "a.html", ())
    assert entries == [{"location": "a.html"}, {"location": "a.html#b"}]
    search_text.add_questions(entries, "a.html", ("Why?", "How?"))
    assert entries == [{"location": "a.html", "asked": "Why?. How?"}, {"location": "a.html#b"}]


def test_numbers_of_a_table_are_left_out_and_its_headings_kept() -> None:
    table = str(
        parts.bare_table(["rows", "bytes"], [[esc("few"), esc("8192")]], right=[False, True])
    )
    pruned = search_text.searchable_html(table)
    assert "8192" not in pruned and all(word in pruned for word in ("rows", "bytes", "few"))


PROVEN = "[It says hello.](claim:start/hello#said) More.\n"


def test_a_result_shows_what_its_page_says(project: Any) -> None:
    """Not the way to the other functions, nor the mark of a sentence that is proven."""
    project.write("snippets/start/hello.py", HELLO + "# claim: said\nassert __name__\n")
    config = (project.root / "mkdocs.yml").read_text(encoding="utf-8")
    functions = "  - Explorer: [explorer/index.md, explorer/one.md, explorer/other.md]\n"
    project.write("mkdocs.yml", config.replace(NAV, NAV + functions))
    project.write("docs/explorer/index.md", "# Explorer\n")
    project.write("docs/explorer/one.md", f"# First\n\n{PROVEN}")
    project.write("docs/explorer/other.md", "# Second\n\nNothing.\n")
    built = project.build("--strict")
    assert built.returncode == 0, built.stdout
    assert "Second" in project.html("explorer/one.html")
    found = {entry["location"]: entry["text"] for entry in index(project.root / "site")}
    texts = [text for location, text in found.items() if location.startswith("explorer/one.html")]
    assert any("It says hello. More." in text for text in texts)
    assert not any("Second" in text for text in texts)


def test_a_word_is_listed_once_a_page_and_on_few_pages() -> None:
    keywords = [Keyword(f"k-L{n}", "FADD", "SASS", "FADD <R1>") for n in (7, 8)]
    urls = [f"p{n}.html" for n in range(9)]
    (group,) = search_names.code_groups(Page(f"docs/{url}", url, keywords=keywords) for url in urls)
    wanted = [("FADD", "FADD <R1>", f"{url}#k-L7") for url in urls[: search_names.MOST_PAGES]]
    assert (group["title"], group["entries"]) == ("SASS", wanted)


# --------------------------------------------------------------------------- in a browser


def ask(tab, words: str, page: str = "") -> Any:
    """Type into the search; the results, those on `page` if it is given."""
    tab.locator("input.md-search__input").focus()  # a key would lead elsewhere, were it too early
    tab.keyboard.type(words, delay=20)
    results = tab.locator(f".md-search-result__link[href*='{page}']")
    results.first.wait_for(state="attached")
    return results


@pytest.mark.browser
def test_a_word_of_the_site_s_own_is_found(tab, address: str) -> None:
    opened = tab()
    opened.goto(f"{address}/index.html", wait_until="networkidle")
    assert ask(opened, "provenance", "how-this-site-is-made").count() > 0
    assert [url for url in opened.asked if not url.startswith((address, "data:", "blob:"))] == []


@pytest.mark.browser
def test_an_instruction_is_found_with_its_line_and_lit(tab, address: str) -> None:
    """In code that the page has not loaded: the address opens and lights the line."""
    opened = tab()
    opened.goto(f"{address}/index.html", wait_until="networkidle")
    result = ask(opened, "LDG.E.128", "machine-code.html").filter(has_text="LDG.E.128 (SASS)").first
    shown = result.locator("code").text_content()
    opened.goto(result.get_attribute("href"), wait_until="load")
    line = opened.locator(".tclab-hit")
    line.wait_for()
    assert "".join(shown.split()) == "".join(line.text_content().split())
    box = line.bounding_box()
    assert 0 < box["y"] < opened.viewport_size["height"]
    assert line.evaluate("e => getComputedStyle(e).backgroundColor") != "rgba(0, 0, 0, 0)"


@pytest.mark.browser
def test_an_instruction_of_a_chain_is_found_and_lit(tab, address: str) -> None:
    opened = tab(viewport={"width": 1440, "height": 900})
    opened.goto(f"{address}/index.html", wait_until="networkidle")
    result = ask(opened, "REDG.E.ADD", "explorer/embedding").filter(has_text="REDG.E.ADD").first
    opened.goto(result.get_attribute("href"), wait_until="load")
    current = opened.locator(".tclab-pane[data-stage=sass] .tclab-current")
    current.wait_for()
    assert "REDG.E.ADD" in current.inner_text() and "linked" in current.get_attribute("class")


@pytest.mark.browser
def test_a_kernel_is_found_by_a_word_of_its_name(tab, address: str) -> None:
    opened = tab()
    opened.goto(f"{address}/index.html", wait_until="networkidle")
    assert ask(opened, "embedding_dense", "explorer/embedding").count() > 0


@pytest.mark.browser
def test_the_search_works_without_a_server(tab, site: Path) -> None:
    opened = tab()
    opened.goto((site / "index.html").as_uri(), wait_until="load")
    assert opened.locator("input.md-search__input").is_visible()
    result = ask(opened, "LDG.E.128", "machine-code.html").filter(has_text="LDG.E.128 (SASS)").first
    # Without a server the page cannot load the code: the file with it is opened instead.
    opened.goto(result.get_attribute("href"))
    opened.wait_for_url("**/pipeline/machine-code/*.html#*")
    line = opened.locator(":target")
    assert "LDG.E.128" in line.inner_text()
    assert opened.locator("a", has_text="Back").get_attribute("href")


@pytest.mark.browser
@pytest.mark.parametrize("start", ["explain.html", "404.html"])
def test_the_index_is_asked_for_when_somebody_searches(tab: Any, address: str, start: str) -> None:
    page = tab()
    page.goto(f"{address}/{start}", wait_until="networkidle")
    assert not [url for url in page.asked if "search_index" in url]
    with page.expect_request("**/search_index.json"):
        page.keyboard.press("/")
    page.keyboard.type("graph break")
    page.wait_for_selector(".md-search-result__item")
