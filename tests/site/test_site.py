"""The real site, built strictly from what is stored or recorded, and read in a real Chromium."""

from __future__ import annotations

import functools
import itertools
import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.chromium import at_rest
from tests.site.accessible import violations
from tests.site.conftest import others_at_night

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(
    path.relative_to(DOCS).with_suffix(".html").as_posix()
    for path in (*DOCS.rglob("*.md"), *DOCS.glob("labs/lab*.py"))
)
DESK = {"width": 1440, "height": 900}
PHONE = {"width": 390, "height": 844}


class Page(HTMLParser):
    """Ids, links and stamps of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.ids += [values["id"]] if values.get("id") else []
        href = values.get("href") if tag in ("a", "link") else None
        self.links += [href] if href else []


def read(site: Path, page: str) -> str:
    return (site / page).read_text(encoding="utf-8")


# --------------------------------------------------------------------------- as files


def test_the_process_of_mkdocs_stays_small(built) -> None:
    assert 20 < built.peak <= 440  # every piece is rendered; a later build takes less


def test_ids_are_unique_and_links_within_the_site_lead_somewhere(site: Path) -> None:
    twice, dead = [], []
    for page in PAGES:
        found = parsed(site / page)
        twice += [(page, i) for i, count in Counter(found.ids).items() if count > 1]
        dead += [(page, link) for link in dict.fromkeys(found.links) if is_dead(site / page, link)]
    assert twice == []
    assert dead == []


def is_dead(page: Path, link: str) -> bool:
    """Return whether a page's link within the site leads to no file, or to no element of it."""
    if re.match(r"\w+:", link):
        return False
    path, _, anchor = link.partition("#")
    target = page.parent / path if path else page
    target = target / "index.html" if target.is_dir() else target
    if not target.exists():
        return True
    asked = anchor and anchor != "__" and target.suffix == ".html"
    return bool(asked) and anchor not in ids(target.resolve())


@functools.cache
def parsed(page: Path) -> Page:
    return Page(page.read_text(encoding="utf-8"))


@functools.cache
def ids(page: Path) -> frozenset[str]:
    """Return the ids of a page, which thousands of links may point to."""
    return frozenset(parsed(page).ids)


def test_no_path_of_this_machine_and_no_traceback(site: Path) -> None:
    private = (str(ROOT), f"{Path.home()}/", "/tmp/", "site-packages/")
    texts = ((page, read(site, page)) for page in PAGES)
    assert [(page, part) for page, html in texts for part in private if part in html] == []


def test_no_level_of_headings_is_skipped(site: Path) -> None:
    skipped = []
    for page in PAGES:
        levels = [0, *(int(n) for n in re.findall(r"<h([1-6])[ >]", read(site, page)))]
        assert levels[1:], page
        skipped += [(page, a, b) for a, b in itertools.pairwise(levels) if b > a + 1]
    assert skipped == []


def test_every_snippet_can_be_downloaded(site: Path) -> None:
    for path in (ROOT / "snippets").glob("*/[!_]*.py"):
        name = path.relative_to(ROOT / "snippets").with_suffix("").as_posix()
        assert (site / f"downloads/{name}.py").read_bytes() == path.read_bytes()
        assert (site / f"downloads/{name}.ipynb").is_file()


# --------------------------------------------------------------------------- in a browser


#: Screens of a page to whoever reads it: one idea, not a scroll. About fifteen, its folds closed;
#: and two more, for fonts of other machines.
MOST = 17
#: Longer, and why.
LONG = {
    "reference/settings.html": 45,  # every setting, of which a field shows those that are asked for
}
#: What is far off is laid out, too: its guessed height would be measured. And nothing waits. Not
#: what is hidden until it is found: late rows, which may have come by then.
LAID_OUT = ":not([hidden]) { content-visibility: visible !important }"


#: Opens each fold that is seen, those inside of opened ones too; then how wide the page is, and how
#: many folds are still closed. Then closes them again.
OPENED_WIDTH = """() => {
    const closed = () => Array.from(document.querySelectorAll("details:not([open])"))
        .filter((fold) => fold.querySelector(":scope > summary")?.checkVisibility());
    const opened = [];
    for (let folds = closed(); folds.length; folds = closed())
        for (const fold of folds) { fold.open = true; opened.push(fold); }
    const found = [document.documentElement.scrollWidth, closed().length];
    for (const fold of opened) fold.open = false;
    return found;
}"""


@pytest.mark.browser
@pytest.mark.parametrize("page", PAGES)
def test_a_page(visit, address: str, page: str) -> None:
    """It loads without errors, asks no other host and is no longer than an idea. On a phone it does
    not scroll sideways.
    """
    opened = visit(f"{address}/{page}", wait_until="networkidle", viewport=DESK)
    assert opened.problems == []
    assert [url for url in opened.asked if not url.startswith((address, "data:", "blob:"))] == []
    assert opened.locator("h1").inner_text().strip()
    opened.add_style_tag(content=LAID_OUT)
    screens = opened.evaluate("document.documentElement.scrollHeight / innerHeight")
    assert screens <= LONG.get(page, MOST)
    opened.set_viewport_size(PHONE)
    width, closed = opened.evaluate(OPENED_WIDTH)
    assert closed == 0
    assert width <= PHONE["width"], f"{page} is {width} px wide"


@pytest.mark.browser
@pytest.mark.parametrize("page", others_at_night(PAGES, 4, 1))
def test_a_page_is_accessible_in_the_dark(visit, address: str, page: str) -> None:
    assert not violations(visit(f"{address}/{page}", viewport=DESK, color_scheme="dark"), page)


@pytest.mark.browser
@pytest.mark.parametrize("page", others_at_night(PAGES, 4, 3))
def test_a_page_is_accessible_on_a_phone(visit, address: str, page: str) -> None:
    assert not violations(visit(f"{address}/{page}", viewport=PHONE), page)


def test_what_may_be_long_is_there() -> None:
    assert LONG.keys() <= set(PAGES)


#: The tabs whose panel did not come when their label was clicked.
UNREACHED_PANELS = """() => {
    const unreached = [];
    for (const tabs of document.querySelectorAll(".tclab-tabs")) {
        if (!tabs.checkVisibility()) continue;  // in another tab's panel, or folded
        const labels = tabs.querySelectorAll(":scope > .tclab-choice > label");
        const panels = tabs.querySelectorAll(":scope > .tclab-panel");
        labels.forEach((label, at) => {
            label.click();
            if (!panels[at].checkVisibility()) unreached.push(label.textContent);
        });
    }
    return unreached;
}"""


#: Brings all rows of long tables; drops what only a script can serve, a field and its count.
NO_CONTROLS = """() => {
    document.querySelectorAll("button.tclab-more").forEach((button) => button.click());
    document
        .querySelectorAll(".tclab-filter, .tclab-more, .tclab-entries > output")
        .forEach((control) => control.remove());
}"""


#: Long outputs start folded.
UNFOLD = "document.querySelectorAll('details').forEach((fold) => { fold.open = true; })"

#: All texts of an element, each for itself.
TEXTS = """element => {
    const texts = [], walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) texts.push(walker.currentNode.data);
    return texts.join(" ");
}"""


#: What is printed of tabs, folds and answers, and should not be; or is not, and should.
WRONG_ON_PAPER = """() => {
    const all = (selector) => Array.from(document.querySelectorAll(selector));
    const seen = (element) => element.checkVisibility() && element.getClientRects().length > 0;
    const panels = (tabs) => Array.from(tabs.querySelectorAll(":scope > .tclab-panel"));
    return [
        ...all(".tclab-tabs").filter((t) => panels(t).filter(seen).length !== Number(seen(t))),
        ...all("article .tclab-fold:not([open], .tclab-printed) > :not(summary)").filter(seen),
        ...all("article .tclab-printed").filter(seen).filter((f) => !seen(f.lastElementChild)),
        ...all("article details:not(.tclab-fold, .tclab-pane) > p").filter((p) => !seen(p)),
    ].map((element) => element.outerHTML.slice(0, 200));
}"""


@pytest.mark.browser
@pytest.mark.parametrize("page", others_at_night(PAGES, 4, 2))
def test_everything_is_readable_without_javascript(visit, address: str, page: str) -> None:
    """With scripts off the same words are on the page, and each tab's panel can be reached. On
    paper are of tabs the chosen one, of long folds the summary; answers to questions in full.
    """
    url = f"{address}/{page}"
    with_scripts = visit(url, blocked="**/assets/code/**")  # which is linked, without scripts
    without = visit(url, java_script_enabled=False)
    without.emulate_media(media="print")
    assert without.evaluate(WRONG_ON_PAPER) == []
    without.emulate_media(media="screen")
    texts = []
    for opened in (with_scripts, without):
        opened.evaluate(NO_CONTROLS)
        texts.append(opened.locator("article").first.evaluate(TEXTS))
    # Words, not what stands between spaces: a script may part or join neighbouring elements.
    there, joined = set(re.findall(r"\w+", texts[1])), re.sub(r"\s+", "", texts[1])
    lacking = {w for w in re.findall(r"\w+", texts[0]) if w not in there and w not in joined}
    assert lacking <= {"copy"}  # a button that only a script can serve
    assert without.evaluate(UNREACHED_PANELS) == []


@pytest.mark.browser
def test_dark_mode_toggles_and_follows_the_system(tab, address: str) -> None:
    opened = tab(color_scheme="dark")
    opened.goto(f"{address}/index.html", wait_until="load")
    scheme = "document.body.getAttribute('data-md-color-scheme')"
    assert opened.evaluate(scheme) == "slate"
    dark = opened.evaluate("getComputedStyle(document.body).backgroundColor")
    opened.locator("form[data-md-component=palette] label:visible").click()
    opened.wait_for_function(f"{scheme} === 'default'")
    opened.wait_for_function(
        "dark => getComputedStyle(document.body).backgroundColor !== dark", arg=dark
    )


@pytest.mark.browser
def test_a_node_of_a_drawn_graph_jumps_to_its_source_line(tab, address: str) -> None:
    opened = tab()
    opened.goto(f"{address}/pipeline/dynamo.html", wait_until="load")
    opened.evaluate(UNFOLD)
    node = opened.locator("svg a[href*='-L'], svg a[*|href*='-L']").locator("visible=true").first
    target = node.evaluate("a => a.getAttribute('href') || a.getAttribute('xlink:href')")
    node.click()
    opened.wait_for_function(f"location.hash === {target!r}")
    line = opened.locator(target)
    line.wait_for()
    at_rest(opened)  # it is brought into sight once the address has changed
    assert line.is_visible() and line.inner_text().strip()
    top = line.bounding_box()["y"]
    assert 0 < top < opened.viewport_size["height"]
