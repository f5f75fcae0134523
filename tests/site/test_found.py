"""Found: words from real threads lead to the page that answers them, by the site's own search.

`data/*.json` hold lists of {"query", "page", "source"}: what somebody wrote, the page that answers
it, and where it was written. A browser types each query and reads the results.
"""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
DATA = sorted(Path(__file__).with_name("data").glob("*.json"))
ASKED = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in DATA}

FIRST = 3  # pages, of which one must be the right one
#: How many of a list may be missed: a question has more than one answer, a name has one.
MISSES = {"questions": 3, "messages": 1, "names": 0, "threads": 2}

ROW = 24  # words of the index that are asked for at once

#: Nothing of the query before is left, so what comes is the answer to the next.
CLEARED = """() => {
  for (const list of document.querySelectorAll('.md-search-result__list')) list.replaceChildren();
  document.querySelector('.md-search-result__meta').textContent = "";
}"""
#: Those of the prose; the names are there before.
LINKS = "document.querySelectorAll('ol:not(.tclab-names) > .md-search-result__item')"
NONE = "document.querySelector('.md-search-result__meta').textContent.includes('No matching')"

#: Counts what Material asks of its worker and what comes back. The answer to words that were typed
#: before says what it found, or that nothing matches, and may come after the next are typed.
COUNTED = """
window.tclabAsked = []; window.tclabAnswers = 0;
window.Worker = class extends Worker {
  constructor(...given) {
    super(...given);
    this.addEventListener("message", ({ data }) => { tclabAnswers += data.type === 3; });
    this.postMessage = (message, ...rest) => {
      if (message.type === 2) tclabAsked.push(message.data);
      return Object.getPrototypeOf(this).postMessage.call(this, message, ...rest);
    };
  }
};"""
ANSWERED = "query => tclabAsked.at(-1) === query && tclabAnswers === tclabAsked.length"


def pages_of(row: dict[str, Any]) -> set[str]:
    """Return the pages that answer it."""
    pages = [row["page"]] if isinstance(row["page"], str) else row["page"]
    return {f"{page.removesuffix('.html')}.html" for page in pages}


def first_pages(tab: Any, query: str) -> list[str]:
    """Return the pages of the first results, in their order, each once."""
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


#: Runs the search's worker in the page, whose scripts make queries of what was asked. Returns what
#: the worker warned of, and which of what was asked found nothing.
FUZZED = """async ({ code, index, asked }) => {
  const warned = [], nothing = [];
  const warn = (...said) => warned.push(said.map(String).join(" "));
  let hear, answer;
  new Function("addEventListener", "postMessage", "console", code)(
    (_, handler) => { hear = handler; }, (message) => answer(message), { warn },
  );
  const tell = (data) => new Promise((done) => { answer = done; hear({ data }); });
  await tell({ type: 0, data: { ...index, options: { suggest: false } } });
  for (const data of asked) {
    Worker.prototype.postMessage.call({}, { type: 2, data });
    const found = await tell(window.tclabSent);
    if (!found.data.items.length) nothing.push(data);
  }
  return { warned: Array.from(new Set(warned)), nothing };
}"""
SENT = "Worker.prototype.postMessage = function (message) { window.tclabSent = message; };"

#: What is an operator to lunr, and none in a message.
SIGNS = ("batch size 1", "3", "f32[8, 16] -1", 'x: "y', "kernel^", "graph~ break~9", "title:x",
         "+ - *", "`a` != b", "tensor('x')*", "~", "1.5 ^2", "dynamo:kernel", "*graph")  # fmt: skip


@pytest.mark.browser
def test_no_query_ends_in_an_error_and_each_word_is_found(tab, address: str, site: Path) -> None:
    index = json.loads((site / "search/search_index.json").read_text(encoding="utf-8"))
    (worker,) = site.glob("assets/javascripts/workers/search.*.min.js")
    text = " ".join(f"{entry['title']} {entry['text']}" for entry in index["docs"])
    parts = re.split(index["config"]["separator"], re.sub("<[^>]*>|&[a-z]+;", " ", text.lower()))
    words = sorted({*parts} - {""})
    plain = [word for word in words if re.fullmatch("[a-z]{3,}", word)]
    assert len(plain) > 3000
    rows = [" ".join(words[at : at + ROW]) for at in range(0, len(words), ROW)]
    drawn = random.Random(words[0])
    mixed = [" ".join(drawn.sample(words, drawn.randint(2, 5))) for _ in range(1000)]
    opened = tab()
    opened.add_init_script(SENT)
    opened.goto(f"{address}/index.html", wait_until="load")
    given = {"code": worker.read_text(encoding="utf-8"), "index": index}
    told = opened.evaluate(FUZZED, given | {"asked": [*rows, *mixed, *SIGNS, *plain[::10]]})
    assert told["warned"] == []
    assert set(told["nothing"]).isdisjoint(plain)


@pytest.mark.browser
@pytest.mark.parametrize("name", ASKED)
def test_words_of_threads_lead_to_the_right_page(tab, address: str, name: str) -> None:
    opened = tab()
    opened.add_init_script(COUNTED)
    opened.goto(f"{address}/index.html", wait_until="networkidle")
    opened.locator("input.md-search__input").focus()
    opened.wait_for_function("window.tclabNames")
    first_pages(opened, "compile")  # the index is there
    found = {row["query"]: first_pages(opened, row["query"]) for row in ASKED[name]}
    lost = {
        row["query"]: (row["page"], found[row["query"]])
        for row in ASKED[name]
        if pages_of(row).isdisjoint(found[row["query"]])
    }
    assert len(lost) <= MISSES[name], lost
    assert opened.problems == []


#: Plain words → the page that explains what they name.
LOOKED_UP = {
    **dict.fromkeys(
        ("nothing is compiled", "inference_mode", "lru_cache", "pickle", "generators"),
        "practice/find-out.html",
    ),
    **dict.fromkeys(
        ("too many recompilations", "list of tensors recompiles", "recompile limit reached"),
        "pipeline/recompiles.html",
    ),
    **dict.fromkeys(
        ("print inside compiled function", "skip compiling a function", "why two graphs"),
        "pipeline/graph-breaks.html",
    ),
    "broadcast_buffers": "practice/several-gpus.html",
    "compile in worker process": "practice/serving.html",
    "compile only part of the model": "pipeline/caches.html",
    "complex numbers compile": "beliefs/kernels.html",
    "cuda graphs overwritten output error": "pipeline/cuda-graphs.html",
    "numpy in compiled function": "pipeline/causes-of-breaks.html",
    "quantized model compile": "practice/quantised-weights.html",
    "what is a guard": "pipeline/guards.html",
}


@pytest.mark.browser
def test_plain_words_lead_to_the_page_that_explains_them(tab, address: str) -> None:
    opened = tab()
    opened.add_init_script(COUNTED)
    opened.goto(f"{address}/index.html", wait_until="networkidle")
    opened.locator("input.md-search__input").focus()
    opened.wait_for_function("window.tclabNames")
    first_pages(opened, "compile")  # the index is there
    found = {word: first_pages(opened, word) for word in LOOKED_UP}
    assert {word: pages for word, pages in found.items() if LOOKED_UP[word] not in pages} == {}


@pytest.mark.parametrize("name", ASKED)
def test_each_query_has_a_page_and_a_source(site: Path, name: str) -> None:
    assert len(ASKED[name]) >= 20
    for row in ASKED[name]:
        assert all((site / page).is_file() for page in pages_of(row)), row
        assert row["query"].strip() and row["source"].startswith("https://"), row


@pytest.mark.browser
def test_beside_a_name_that_was_found_nothing_says_that_nothing_matches(tab, address: str) -> None:
    opened = tab()
    opened.add_init_script(COUNTED)
    opened.goto(f"{address}/index.html", wait_until="networkidle")
    opened.locator("input.md-search__input").focus()
    opened.wait_for_function("window.tclabNames")
    count = opened.locator(".md-search-result__meta")
    first_pages(opened, "xyzzyplugh")
    assert count.is_visible() and "No matching" in count.inner_text()
    assert first_pages(opened, "_autograd_backward_strict_mode_banned_ops") != []
    assert opened.locator(".tclab-names a").first.is_visible() and not count.is_visible()


@pytest.mark.browser
def test_a_hit_shows_what_the_page_says_and_not_the_questions_it_is_found_by(
    tab, address: str
) -> None:
    text = (ROOT / "docs/practice/wrong-result.md").read_text(encoding="utf-8")
    asked = re.findall(r"^  - (.+)$", text.partition("asked:")[2].partition("---")[0], re.MULTILINE)
    question = re.findall(r"^> (.+)$", text, re.MULTILINE)[0]
    assert len(asked) > 2 and "NaN" in asked[0]
    opened = tab()
    opened.add_init_script(COUNTED)
    opened.goto(f"{address}/index.html", wait_until="networkidle")
    opened.locator("input.md-search__input").focus()
    for words in ("compiled loss is NaN", asked[0]):
        assert "practice/wrong-result.html" in first_pages(opened, words)
        hit = opened.locator(".md-search-result__link[href*='wrong-result.html?']").first
        shown = hit.inner_text()
        assert question in shown and not any(words in shown for words in asked)
