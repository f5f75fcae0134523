"""How a page starts: what the browser does before anybody touches it, counted."""

from __future__ import annotations

from typing import Any

import pytest

SCHEME = "document.body.getAttribute('data-md-color-scheme')"
GROUND = "getComputedStyle(document.body).backgroundColor"
#: Keeps in `marks` when the body is marked as changing its colours, and when the page is parsed.
MARKS = """
window.marks = [];
addEventListener("DOMContentLoaded", () => marks.push("parsed"));
const seen = new MutationObserver((changes) => marks.push(changes.length));
new MutationObserver((_, waiting) => {
  if (!document.body) return;
  waiting.disconnect();
  seen.observe(document.body, { attributeFilter: ["data-md-color-switching"] });
}).observe(document, { childList: true, subtree: true });
"""
ROOT_SCHEME = "getComputedStyle(document.documentElement).colorScheme"


def styled(browser: Any, opened: Any, url: str) -> int:
    """Return how many elements are styled until the page has come, each as often as it is."""
    session = browser.new_browser_cdp_session()
    events: list[dict[str, Any]] = []
    ended: list[bool] = []
    session.on("Tracing.dataCollected", lambda data: events.extend(data["value"]))
    session.on("Tracing.tracingComplete", lambda _: ended.append(True))
    categories = {"includedCategories": ["devtools.timeline"]}
    session.send("Tracing.start", {"transferMode": "ReportEvents", "traceConfig": categories})
    opened.goto(url, wait_until="load")
    opened.evaluate("new Promise(done => requestIdleCallback(() => requestAnimationFrame(done)))")
    session.send("Tracing.end")
    while not ended:
        opened.evaluate("0")  # events come while the browser is asked
    counts = (e["args"].get("elementCount", 0) for e in events if e["name"] == "UpdateLayoutTree")
    return sum(counts)


@pytest.mark.browser
@pytest.mark.parametrize("page", ["benchmarks/models.html", "labs/lab4_code.html"])
def test_a_page_is_styled_about_once(browser, tab, address: str, page: str) -> None:
    """Material's script would have it styled anew five times."""
    opened = tab(viewport={"width": 390, "height": 844})
    count = styled(browser, opened, f"{address}/{page}")
    elements = opened.evaluate("document.querySelectorAll('*').length")
    assert 0 < count < 1.5 * elements
    assert opened.problems == []


#: Figures, and whether each is laid out.
LAID_OUT = """(selector) => Array.from(document.querySelectorAll(selector)).map((figure) =>
    (figure.firstElementChild || figure).checkVisibility({ contentVisibilityAuto: true }))"""
#: Whether a search for the last words of an element ends in it.
FOUND = """(element) => {
    const words = element.textContent.trim().split("\\n").at(-1).trim().slice(-24);
    while (window.find(words, true))
        if (element.contains(getSelection().anchorNode)) return true;
    return false;
}"""
FAR = {
    "benchmarks/models.html": ".md-content__inner > figure.tclab",
    "labs/lab4_code.html": ".jp-CodeCell > .jp-Cell-inputWrapper",
}


@pytest.mark.browser
@pytest.mark.parametrize("page", FAR)
def test_what_is_far_off_is_laid_out_when_it_is_near(tab, address: str, page: str) -> None:
    """A browser's search for a word finds it there, and all of it is there on paper."""
    opened = tab(viewport={"width": 390, "height": 844})
    opened.goto(f"{address}/{page}", wait_until="load")
    assert opened.evaluate(LAID_OUT, FAR[page])[-4] is False  # the last two are laid out
    far = opened.locator(FAR[page]).nth(-4)
    assert far.evaluate(FOUND)
    far.scroll_into_view_if_needed()
    opened.wait_for_function(f"({LAID_OUT})({FAR[page]!r}).at(-4)")
    opened.emulate_media(media="print")
    # What comes into reach is laid out with the next frame.
    opened.wait_for_function(f"({LAID_OUT})({FAR[page]!r}).every(Boolean)")


@pytest.mark.browser
def test_the_systems_colours_are_there_before_materials_script(tab, address: str) -> None:
    opened = tab(color_scheme="dark")
    opened.route("**/bundle.*.js", lambda route: route.abort())
    opened.goto(f"{address}/index.html", wait_until="load")
    assert opened.evaluate(SCHEME) == "slate"
    dark = opened.evaluate(GROUND)
    light = tab(color_scheme="light")
    light.goto(f"{address}/index.html", wait_until="load")
    assert light.evaluate(SCHEME) == "default"
    assert light.evaluate(GROUND) != dark


@pytest.mark.browser
def test_colours_that_were_chosen_go_before_the_systems(tab, address: str) -> None:
    opened = tab(color_scheme="dark")
    opened.goto(f"{address}/index.html", wait_until="load")
    opened.locator("form[data-md-component=palette] label:visible").click()
    opened.wait_for_function(f"{SCHEME} === 'default'")
    opened.route("**/bundle.*.js", lambda route: route.abort())
    opened.goto(f"{address}/index.html", wait_until="load")
    assert opened.evaluate(SCHEME) == "default"


@pytest.mark.browser
def test_a_change_of_colours_is_marked_and_reaches_the_windows_own_parts(tab, address: str) -> None:
    """While it is marked nothing is animated; a page that starts is not marked."""
    opened = tab(color_scheme="dark")
    opened.add_init_script(MARKS)
    opened.goto(f"{address}/index.html", wait_until="load")
    assert opened.evaluate("marks") == ["parsed"]
    assert opened.evaluate(ROOT_SCHEME) == "dark"
    opened.locator("form[data-md-component=palette] label:visible").click()
    opened.wait_for_function(f"{SCHEME} === 'default'")
    opened.wait_for_function("marks.length > 1")
    assert opened.evaluate(ROOT_SCHEME) != "dark"


@pytest.mark.browser
def test_nothing_in_the_head_is_waited_for_but_styles(tab, address: str) -> None:
    opened = tab(java_script_enabled=False)
    opened.goto(f"{address}/index.html", wait_until="load")
    assert opened.locator("head script[src]").count() == 0
    assert opened.locator("body script[src$='iframe-worker.js']").count() == 1
    assert opened.locator("html.no-js").count() == 1
