"""What a reader of a page sees first, what comes when it is opened, what paper and phones get."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tclab.errors import PageError
from tclab.render.delivery.files import Files
from tclab.site.pages import code_focus
from tclab.site.snippets.files import read
from tests.chromium import at_rest, press
from tests.site.accessible import pale_texts

ROOT = Path(__file__).resolve().parents[2]
PHONE = {"width": 390, "height": 844}
DESKTOP = {"width": 1280, "height": 800}
TRITON = "pipeline/triton.html"
MACHINE = "pipeline/machine-code.html"
SASS = (
    "triton-softmax-for-a-gpu-that-is-not-here-here-sass-"
    "triton-per-fused-softmax-prepare-softmax-online-0"
)

SUBJECT = '''"""Title.

Caption.
"""
import torch
import tclab

SCALE = 3
UNUSED = 4


def helper(x):
    return x * SCALE


@torch.compile
def decorated(x):
    return x


class Block(torch.nn.Module):
    pass


def f(x):
    return helper(x)


def measure(fn):
    return fn


c = tclab.capture(f)(torch.ones(3))
measure(1)
print(c)
'''


# --------------------------------------------------------------------------- as files


def focus(tmp_path: Path, source: str, named: list[str] | None = None) -> list[str]:
    path = tmp_path / "snippets/start/hello.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source)
    lines = source.splitlines()
    ranges = code_focus.focus_ranges(read(path, tmp_path), (5, len(lines)), named, "docs/x.md:1")
    return [lines[start - 1] for start, _ in ranges]


def test_the_focus_is_what_the_compiler_gets(tmp_path: Path) -> None:
    assert focus(tmp_path, SUBJECT) == [
        "SCALE = 3", "def helper(x):", "@torch.compile", "class Block(torch.nn.Module):",
        "def f(x):",
    ]  # fmt: skip
    assert focus(tmp_path, SUBJECT, ["measure"]) == ["def measure(fn):"]
    assert focus(tmp_path, SUBJECT, []) == []
    assert focus(tmp_path, '"""T."""\n\n\n\ndef f():\n    pass\n\n\nf()\n') == []  # short
    with pytest.raises(PageError, match="defines no 'nothing'") as caught:
        focus(tmp_path, SUBJECT, ["nothing"])
    assert "helper" in caught.value.next_step


def test_what_is_put_aside_is_a_page_of_its_own() -> None:
    parts = Files("a/b.html")
    assert parts.deliver_listing('<pre id="k-L1">x</pre>', "<SASS>", "k") == (
        '<p class="tclab-later" data-ids="k">'
        '<a href="../a/b/k.html">&lt;SASS&gt;, on a page of its own</a></p>'
    )
    (path, aside), = parts.files.items()  # fmt: skip
    assert path == "a/b/k.html" and '<pre id="k-L1">x</pre>' in aside
    assert "<h1>&lt;SASS&gt;</h1>" in aside and 'href="../../a/b.html#k"' in aside
    assert 'href="../../assets/tclab/tclab.css"' in aside


def test_a_snippet_is_stamped_once_and_named_once(project) -> None:
    block = 'from tclab.site.pages import snippet\nsnippet("start/hello")'
    fence = f'```python exec="1" html="1"\n{block}\n```'
    project.write("docs/index.md", f"# Home\n\n## Say hello\n\nText.\n\n{fence}\n")
    assert project.build().returncode == 0
    html = project.html()
    assert html.count('class="tclab-stamp') == 1
    assert len(re.findall(r">Say hello\b", html.partition("<article")[2])) == 1


def test_a_chapter_links_its_stage_and_the_command(site: Path) -> None:
    chapters = sorted((ROOT / "docs/pipeline").glob("*.md"))
    assert len(chapters) >= 7
    for chapter in chapters:
        html = (site / "pipeline" / f"{chapter.stem}.html").read_text(encoding="utf-8")
        (box,) = re.findall(r'<p class="tclab-see">.*?</p>', html)
        target, anchor = re.findall(r'href="([^"#]+)#([^"]+)"', box)[0]
        explorer = (site / "pipeline" / target).resolve().read_text(encoding="utf-8")
        assert f'id="{anchor}"' in explorer, chapter
        assert 'href="../explain.html"><code>tclab explain' in box
        assert html.index("tclab-see") < html.index("<h2")


def test_the_first_page_has_what_its_recording_says(site: Path) -> None:
    html = (site / "index.html").read_text(encoding="utf-8")
    section = html[html.index('id="how-exact-is-it"') :].partition("to the character")[0]
    totals = (ROOT / "records/h200-torch2.11/targets/corpus_report/01-totals.json").read_text()
    for verdict in ("all", "identical"):
        (number,) = re.findall(rf'"{verdict}",\s*(\d+),', totals)
        assert re.search(rf">{number}<", section), (verdict, number)


# --------------------------------------------------------------------------- in a browser

pytestmark: list[Any] = []
browser = pytest.mark.browser


def opened(tab, url: str, **options: Any) -> Any:
    page = tab(**options)
    page.goto(url, wait_until="load")
    return page


@browser
def test_the_rest_of_a_listing_is_one_click_away(tab, address: str) -> None:
    page = opened(tab, f"{address}/pipeline/dynamo.html")
    listing = page.locator(".tclab-listing").first
    lines = listing.locator("pre > code > span[id]")
    seen = [line for line in lines.all() if line.is_visible()]
    assert 1 < len(seen) < lines.count()
    fold = listing.locator("summary").last
    before = fold.bounding_box()["y"]
    press(fold)
    page.wait_for_function("document.querySelectorAll('.tclab-listing details[open]').length > 1")
    assert all(line.is_visible() for line in lines.all())
    assert page.problems == []
    assert before > 0


#: The heights of what is off the screen: as it is reckoned before it is laid out, and as it is.
HEIGHTS = """(all) => {
    const tall = () => all.map((one) => one.getBoundingClientRect().height);
    const reckoned = tall();
    const style = document.createElement("style");
    style.textContent = "* { content-visibility: visible !important }";
    document.head.append(style);
    const found = tall();
    return reckoned.map((height, n) => [height, found[n]]).filter(([height]) => height > 0);
}"""


@browser
@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("url", ["first-steps", "pipeline/dynamo", "pipeline/triton"])
def test_code_does_not_move_a_page_when_it_comes_into_view(tab, address, url, viewport) -> None:
    page = opened(tab, f"{address}/{url}.html", viewport=viewport)
    heights = page.locator(".tclab-code > pre > code[style]").evaluate_all(HEIGHTS)
    assert len(heights) > 3
    assert all(found == pytest.approx(reckoned, abs=1) for reckoned, found in heights)


@browser
def test_a_link_to_a_folded_line_opens_it(tab, address: str) -> None:
    page = opened(tab, f"{address}/pipeline/dynamo.html")
    folded = page.locator(".tclab-listing details code > span[id]").last.get_attribute("id")
    page.goto(f"{address}/pipeline/dynamo.html#{folded}")
    page.wait_for_function(  # the browser scrolls there once the fold is open
        "id => { const y = document.getElementById(id).getBoundingClientRect().y;"
        " return 0 < y && y < innerHeight }",
        arg=folded,
    )


@browser
def test_the_code_is_copied_whole(tab, address: str) -> None:
    page = opened(tab, f"{address}/{TRITON}", permissions=["clipboard-read", "clipboard-write"])
    listing = page.locator(".tclab-listing").first
    listing.locator(".tclab-copy").click()
    page.wait_for_function("document.querySelector('.tclab-copy').textContent === 'copied'")
    copied = page.evaluate("navigator.clipboard.readText()")
    source = (ROOT / listing.locator(".tclab-bar code").inner_text()).read_text(encoding="utf-8")
    assert copied.strip() and source.strip().endswith(copied.strip())
    kernel = page.locator(".tclab-excerpt.no-copy:not(.tclab-listing *)").first
    kernel.locator(".tclab-copy").click()
    kernel.locator(".tclab-copy", has_text="copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()").startswith("import triton")


@browser
def test_machine_code_is_loaded_when_it_is_opened(tab, address: str) -> None:
    page = opened(tab, f"{address}/{MACHINE}")
    aside = f"{address}/pipeline/machine-code/{SASS}.html"
    assert aside not in page.asked and page.locator(f"#{SASS}-L9").count() == 0
    page.locator(f".tclab-later[data-ids='{SASS}']").evaluate("e => e.parentElement.open = true")
    page.locator(f"#{SASS}-L9").wait_for()
    assert page.asked.count(aside) == 1
    assert page.problems == []


@browser
def test_without_javascript_machine_code_is_a_link_away(tab, address: str) -> None:
    page = opened(tab, f"{address}/{MACHINE}", java_script_enabled=False)
    link = page.locator(f".tclab-later[data-ids='{SASS}'] a")
    page.locator(f"details:has(> .tclab-later[data-ids='{SASS}']) > summary").click()
    link.click()
    page.wait_for_url(f"**/{SASS}.html")
    assert "SASS" in page.locator("h1").inner_text()
    assert page.locator("pre").inner_text().count("\n") > 100
    page.locator("a", has_text="Back").click()
    page.wait_for_url(f"**/{MACHINE}#{SASS}")


@browser
def test_a_listing_alone_is_dark_where_the_system_is_and_fits_a_phone(
    tab, site: Path, address: str
) -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in site.rglob("*.html")}
    alone = [path for path, text in texts.items() if 'class="tclab-alone"' in text[:100]]
    longest = max(alone, key=lambda path: len(texts[path].partition("</title>")[0]))
    page = tab(viewport=PHONE, color_scheme="dark")
    page.goto(f"{address}/{longest.relative_to(site).as_posix()}")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(27, 30, 38)"
    assert pale_texts(page) == {}


@browser
def test_a_line_of_machine_code_that_is_not_there_harms_nothing(tab, address: str) -> None:
    page = opened(tab, f"{address}/{MACHINE}#{SASS}-L99999")
    page.locator(f"#{SASS}-L9").wait_for(state="attached")
    page.goto(f"{address}/{MACHINE}#no-such-place-L3")
    assert page.problems == []


@browser
@pytest.mark.parametrize("path", ["pipeline/dynamo.html", "index.html", TRITON])
def test_nothing_moves_while_a_page_loads(tab, address: str, path: str) -> None:
    """Chains are the viewer's, and measured there."""
    page = tab()
    page.add_init_script("""
        window.shifts = [];
        new PerformanceObserver((list) => {
            for (const shift of list.getEntries()) {
                const where = Array.from(shift.sources, (s) => s.node && s.node.parentElement);
                if (!where.some((e) => e && e.closest && e.closest(".tclab-is-chain")))
                    window.shifts.push(shift.value);
            }
        }).observe({ type: "layout-shift", buffered: true });
    """)
    page.goto(f"{address}/{path}", wait_until="networkidle")
    at_rest(page)
    assert page.evaluate("window.shifts.reduce((a, b) => a + b, 0)") <= 0.02


@browser
def test_an_anchor_lands_right_where_code_is_not_laid_out(tab, address: str) -> None:
    for name in ("reductions", "autotuning", "matrix-products-and-templates"):
        page = opened(tab, f"{address}/{TRITON}#{name}")
        at_rest(page)
        assert 0 <= page.locator(f"#{name}").bounding_box()["y"] <= 120


@browser
def test_on_a_phone_wide_pictures_give_way_to_their_table(tab, address: str) -> None:
    page = opened(tab, f"{address}/pipeline/aotautograd.html", viewport=PHONE)
    page.add_style_tag(content="* { content-visibility: visible !important }")  # far ones, too
    sizes = page.evaluate("""() => Array.from(document.querySelectorAll(".tclab-graph"))
        .filter((svg) => svg.checkVisibility())
        .map((svg) => [svg.classList.contains("tclab-wide"),
            svg.getBoundingClientRect().width / svg.viewBox.baseVal.width])""")
    assert sizes
    assert not any(wide for wide, _ in sizes)
    assert all(scale >= 0.99 for _, scale in sizes)  # 12 px letters stay 12 px
    tabs = page.locator(".tclab-tabs:has(.tclab-wide)").first
    assert tabs.locator(".tclab-panel[data-label=Table]").is_visible()
    assert not tabs.locator("label", has_text="Picture").is_visible()
    tabs.locator("label", has_text="Text").click()
    assert tabs.locator(".tclab-panel[data-label=Text]").is_visible()
    assert not tabs.locator(".tclab-panel[data-label=Table]").is_visible()


@browser
def test_on_paper_tabs_are_one_and_folds_stay_folded(tab, address: str) -> None:
    page = opened(tab, f"{address}/pipeline/aotautograd.html")
    page.emulate_media(media="print")
    for tabs in page.locator(".tclab-tabs").all():
        shown = [p for p in tabs.locator(":scope > .tclab-panel").all() if p.is_visible()]
        assert len(shown) == 1 or not tabs.is_visible()
    long = ".tclab-fold:not([open], .tclab-printed) > :not(summary)"
    assert page.locator(long).count() > 5
    for folded in page.locator(long).all():
        assert not folded.is_visible()
    for short in page.locator(".tclab-printed > :not(summary)").all():
        assert short.is_visible() or not short.locator("..").is_visible()
    for answer in page.locator("details.question > :not(summary)").all():
        assert answer.is_visible()
    cut = page.evaluate("""() =>
        Array.from(document.querySelectorAll("pre > code, .tclab-scroll"))
        .filter((e) => e.checkVisibility())
        .filter((e) => getComputedStyle(e).overflowY !== "visible").length""")
    assert cut == 0


@browser
@pytest.mark.parametrize("path", ["first-steps.html", "pipeline/graph-breaks.html"])
def test_nothing_is_wider_than_the_paper(tab, address: str, tmp_path: Path, path: str) -> None:
    page = opened(tab, f"{address}/{path}", viewport={"width": 703, "height": 1000})  # A4, margins
    page.emulate_media(media="print")
    assert page.evaluate("document.documentElement.scrollWidth") <= 703


@browser
def test_a_browser_without_content_visibility_reads_the_same(tab, address: str) -> None:
    page = tab()
    page.route("**/*.css", lambda route: _without(route, "content-visibility"))
    page.goto(f"{address}/pipeline/dynamo.html", wait_until="load")
    assert page.problems == []
    assert page.locator(".tclab-excerpt > .tclab-code pre").first.is_visible()


def _without(route: Any, feature: str) -> None:
    answer = route.fetch()
    route.fulfill(response=answer, body=answer.text().replace(feature, "x-none"))


@browser
def test_without_storage_nothing_is_thrown(tab, address: str) -> None:
    page = tab()
    page.add_init_script("""for (const name of ["localStorage", "sessionStorage"])
        Object.defineProperty(window, name, { get() { throw new DOMException("denied"); } });""")
    page.goto(f"{address}/pipeline/dynamo.html", wait_until="load")
    page.locator(".tclab-choice label:visible", has_text="Table").first.click()
    assert [p for p in page.problems if "tclab" in p] == []


# --------------------------------------------------------------------------- the README's picture


def test_the_readme_s_picture_is_of_the_chain_that_home_shows() -> None:
    """`make readme-picture` writes the digest of the snippet into it."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (path,) = re.findall(r"!\[[^\]]{20,}\]\(([^)]+)\)", readme)
    with Image.open(ROOT / path) as picture:
        comment = picture.info["comment"].decode()
    from benchmarks.readme_picture import digest

    assert comment == digest(ROOT)
    assert (ROOT / path).stat().st_size < 300_000


@pytest.mark.browser
def test_on_a_phone_a_row_of_many_columns_is_a_block(tab: Any, address: str) -> None:
    page = tab(viewport={"width": 390, "height": 844})
    page.goto(f"{address}/practice/find-out.html", wait_until="load")
    cells = page.locator(".tclab-prose tbody tr").first.locator("td")
    boxes = [cell.bounding_box() for cell in cells.all()]
    tops = [box["y"] for box in boxes]
    assert len(boxes) == 4 and tops == sorted(set(tops))
    assert all(box["x"] + box["width"] <= 390 for box in boxes)
    assert cells.nth(1).get_attribute("data-head") == "What to run or read"
