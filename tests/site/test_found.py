"""Found: words from real threads lead to the page that answers them, by the site's own search.

`data/*.json` hold lists of {"query", "page", "source"}: what somebody wrote, the page that answers
it, and where it was written. A browser types each query and reads the results.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

DATA = sorted(Path(__file__).with_name("data").glob("*.json"))
THREADS = [row for path in DATA for row in json.loads(path.read_text(encoding="utf-8"))]

FIRST = 3  # pages, of which one must be the right one
MISSES = 1 / 20  # of all queries: 38 of 40 must be found

#: Nothing of the query before is left, so what comes is the answer to the next.
CLEARED = """() => {
  document.querySelector('.md-search-result__list').replaceChildren();
  document.querySelector('.md-search-result__meta').textContent = "";
}"""
LINKS = "document.querySelectorAll('.md-search-result__link')"
NONE = "document.querySelector('.md-search-result__meta').textContent.includes('No matching')"

#: Counts what Material asks of its worker and what comes back. The answer to words that were typed
#: before says what it found, or that nothing matches, and may come after the next are typed.
COUNTED = """
window.tclabAsked = []; window.tclabAnswers = 0;
window.Worker = class extends Worker {
  constructor(...given) {
    super(...given);
    this.addEventListener("message", ({ data }) => { tclabAnswers += data.type === 3; });
  }
  postMessage(message, ...rest) {
    if (message.type === 2) tclabAsked.push(message.data);
    return super.postMessage(message, ...rest);
  }
};"""
ANSWERED = "query => tclabAsked.at(-1) === query && tclabAnswers === tclabAsked.length"


def page_of(row: dict[str, str]) -> str:
    return f"{row['page'].removesuffix('.html')}.html"


def first_pages(tab: Any, query: str) -> list[str]:
    """The pages of the first results, in their order, each once."""
    field = tab.locator("input.md-search__input")
    tab.evaluate(CLEARED)
    field.fill(query)
    field.press("End")  # Material reads the field when a key comes up
    tab.wait_for_function(ANSWERED, arg=query)
    tab.wait_for_function(f"{NONE} || {LINKS}.length > 0")  # they come a frame later
    links = tab.locator(".md-search-result__link").evaluate_all(
        "found => found.map(link => new URL(link.href).pathname.slice(1))"
    )
    return list(dict.fromkeys(links))[:FIRST]


@pytest.mark.browser
def test_no_word_of_the_site_ends_in_an_error(tab, address: str, site: Path) -> None:
    """Each is looked for as the beginning of a word, so one that is nowhere may be asked for."""
    index = json.loads((site / "search/search_index.json").read_text(encoding="utf-8"))
    prose = " ".join(entry["title"] for entry in index["docs"])
    words = sorted({word.lower() for word in re.findall(r"[A-Za-z]{4,}", prose)})
    opened = tab()
    opened.add_init_script(COUNTED)
    opened.goto(f"{address}/index.html", wait_until="networkidle")
    opened.locator("input.md-search__input").focus()
    first_pages(opened, "compile")
    opened.on("console", lambda said: opened.problems.append(said.text))
    some = words[:: max(1, len(words) // 60)]
    found = [word for word in some if first_pages(opened, word)]
    assert len(found) > len(some) * 0.8  # the search leaves out words such as "about"
    assert first_pages(opened, "training") != [] and opened.problems == []


@pytest.mark.browser
def test_words_of_threads_lead_to_the_right_page(tab, address: str) -> None:
    opened = tab()
    opened.add_init_script(COUNTED)
    opened.goto(f"{address}/index.html", wait_until="networkidle")
    opened.locator("input.md-search__input").focus()
    opened.wait_for_function("window.tclabNames")
    first_pages(opened, "compile")  # the index is there
    found = {row["query"]: first_pages(opened, row["query"]) for row in THREADS}
    lost = {
        row["query"]: (row["page"], found[row["query"]])
        for row in THREADS
        if page_of(row) not in found[row["query"]]
    }
    assert len(lost) <= len(THREADS) * MISSES, lost
    assert opened.problems == []


def test_each_query_has_a_page_and_a_source(site: Path) -> None:
    assert len(THREADS) >= 20
    for row in THREADS:
        assert (site / page_of(row)).is_file(), row
        assert row["query"].strip() and row["source"].startswith("https://"), row
