"""Sites of several PyTorches as one tree."""

from __future__ import annotations

import json
import posixpath
import re
import shutil
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tclab.site.pages import version_tree
from tclab.site.pages.site.compact import compact
from tests.site.conftest import ONE_OF_EACH_KIND

ADDRESS = "https://example.org/lab/"

#: What a page of Material's has where something is written in.
PAGE = """<!doctype html><html><head><title>{title}</title>{style}</head><body>
<div data-md-component="announce">

</div>
<header><div class="md-header__topic">
  <span class="md-ellipsis">The lab</span>
</div><div class="md-header__topic"><span class="md-ellipsis">{title}</span></div></header>
<a href="{base}pipeline/call.html">Pipeline</a> <a href="{base}downloads/one.py#x">one</a>
<a href="{base}downloads/two.py">two</a> <div data-src="{base}assets/code/k.js"></div>
<script src="{base}assets/k.js"></script>
<a href="data:text/csv;charset=utf-8,a,%22b%22%0D%0A&amp;" download="times.csv">times.csv</a>
<a href="data:text/csv;charset=utf-8,a,%22b%22%0D%0A&amp;" download="t.csv">t</a>
<code>{version}</code></body></html>
"""
STYLE = """<style>.md-version__list { display: none }
.md-version:focus-within .md-version__list { display: block }</style>"""


def site(folder: Path, version: str, *more: str) -> str:
    """Return a built site of this version, as the command names it."""
    for name in ("index.html", "pipeline/call.html", "404.html", *more):
        base = "../" * name.count("/") if name != "404.html" else "/"
        text = PAGE.format(title=name, base=base, version=version, style=STYLE)
        write(folder / name, text)
    write(folder / "downloads/one.py", "print(1)\n")
    write(folder / "downloads/two.py", f"print({version!r})\n")
    write(folder / "assets/code/k.js", "code()")
    write(folder / "assets/k.js", "code()")
    write(folder / "assets/javascripts/workers/search.js", "search()")
    write(folder / "assets/site.css", "p {}")
    write(folder / "assets/javascripts/lunr/tinyseg.js", "1")
    return f"{version}={folder}"


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


Composed = Callable[..., Path]


@pytest.fixture
def composed(tmp_path: Path) -> Composed:
    """Writes the tree of three versions, given in no order."""
    words = (
        site(tmp_path / "a", "2.9.0", "pipeline/gone.html"),
        site(tmp_path / "b", "2.13.0", "pipeline/new.html"),
        site(tmp_path / "c", "2.13.0rc1"),
    )

    def compose(*options: str) -> Path:
        assert version_tree.main([str(tmp_path / "out"), *words, *options]) == 0
        return tmp_path / "out"

    return compose


def test_versions_stand_in_order_in_the_form_of_mike(composed: Composed) -> None:
    listed = json.loads((composed() / "versions.json").read_text())
    assert [one["version"] for one in listed] == ["2.13.0", "2.13.0rc1", "2.9.0"]
    assert listed[0] == {"version": "2.13.0", "title": "PyTorch 2.13.0", "aliases": ["latest"]}
    assert all(one["aliases"] == [] for one in listed[1:])


def links(path: Path) -> Iterator[str]:
    yield from re.findall(r'(?:href|src|content="0; url)="?([^"#]+)', path.read_text())


def test_every_link_leads_to_a_file(composed: Composed) -> None:
    out = composed()
    pages = list(out.rglob("*.html"))
    assert len(pages) == 12  # versions, redirects, the first
    found = [(page, link) for page in pages for link in links(page)]
    assert len(found) > 60
    assert not [one for one in found if not (one[0].parent / one[1]).is_file()]


def test_a_page_leads_to_itself_or_to_its_chapter(composed: Composed) -> None:
    out = composed()
    ways = re.findall(r'<a href="([^"]+)" class="md-version__link">([^<]+)',
                      (out / "2.13.0/pipeline/new.html").read_text())  # fmt: skip
    assert ways == [
        ("../../2.13.0/pipeline/new.html", "2.13.0"),
        ("../../2.13.0rc1/pipeline/call.html", "2.13.0rc1"),
        ("../../2.9.0/pipeline/call.html", "2.9.0"),
    ]
    gone = (out / "2.9.0/pipeline/gone.html").read_text()
    assert 'made with PyTorch 2.9.0. <a href="../../2.13.0/pipeline/call.html">Its chap' in gone
    same = (out / "2.9.0/pipeline/call.html").read_text()
    assert '<a href="../../2.13.0/pipeline/call.html">The same page with' in same
    assert "made with PyTorch" not in (out / "2.13.0/pipeline/call.html").read_text()


def test_what_is_the_same_is_there_once(composed: Composed) -> None:
    out = composed()
    assert len(list(out.rglob("one.py"))) == 1 and len(list(out.rglob("k.js"))) == 1
    assert (
        len(list(out.rglob("two.py"))) == 3 == len(list(out.rglob("search.js")))
    )  # by its version
    assert not list(out.rglob("tinyseg.js"))
    page = (out / "2.9.0/pipeline/call.html").read_text()
    assert 'href="../../2.13.0/downloads/one.py#x"' in page
    assert 'data-src="../../2.13.0/assets/code/k.js"' in page
    assert '<script src="../../2.13.0/assets/code/k.js">' in page  # the same under another name
    assert 'href="../downloads/two.py"' in page


def test_what_links_carry_is_a_file_of_all_versions(composed: Composed) -> None:
    out = composed()
    (data,) = out.glob("data/*")
    assert data.suffix == ".csv" and data.read_bytes() == b'a,"b"\r\n&'
    assert f'<a href="../../data/{data.name}" download="t.csv">' in (
        out / "2.9.0/pipeline/call.html").read_text()  # fmt: skip


def test_the_same_sites_give_the_same_tree(composed: Composed) -> None:
    def contents(folder: Path) -> dict[str, bytes]:
        return {
            str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()
        }

    first = contents(composed("--url", ADDRESS))
    assert first == contents(composed("--url", ADDRESS))
    assert not [path for path in composed().rglob("*") if path.is_symlink()]


def test_an_address_gives_canonical_links_and_sitemaps(composed: Composed) -> None:
    out = composed("--url", ADDRESS.rstrip("/"))
    call = (out / "2.9.0/pipeline/call.html").read_text()
    assert f'<link rel="canonical" href="{ADDRESS}2.13.0/pipeline/call.html">' in call
    gone = (out / "2.9.0/pipeline/gone.html").read_text()
    assert f'<link rel="canonical" href="{ADDRESS}2.9.0/pipeline/gone.html">' in gone
    assert f"<loc>{ADDRESS}2.9.0/sitemap.xml</loc>" in (out / "sitemap.xml").read_text()
    assert f"<loc>{ADDRESS}2.9.0/pipeline/gone.html</loc>" in (
        out / "2.9.0/sitemap.xml").read_text()  # fmt: skip
    assert 'href="/lab/2.13.0/pipeline/call.html"' in (out / "404.html").read_text()
    assert "canonical" not in (composed() / "2.9.0/index.html").read_text()


def test_a_folder_without_a_site_is_refused(tmp_path: Path, capsys) -> None:
    (tmp_path / "site").mkdir()
    words = [str(tmp_path / "out"), f"2.13.0={tmp_path / 'site'}"]
    assert version_tree.main(words) == 1
    assert "next: make site TORCH=2.13.0" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.browser
@pytest.mark.parametrize("scripts", [True, False])
def test_the_switch_works_from_a_file_and_without_scripts(composed, browser, scripts) -> None:
    out = composed()
    page = browser.new_context(java_script_enabled=scripts).new_page()
    page.goto((out / "latest/pipeline/call.html").as_uri())
    page.wait_for_url("**/2.13.0/pipeline/call.html")
    page.locator(".md-version__current").focus()
    page.locator(".md-version__link", has_text="2.9.0").click()
    page.wait_for_url("**/2.9.0/pipeline/call.html")
    page.get_by_role("link", name="The same page with PyTorch 2.13.0").click()
    page.wait_for_url("**/2.13.0/pipeline/call.html")
    page.context.close()


# ------------------------------------------------------------------------------ fewer bytes


class Nodes(HTMLParser):
    """Tags with their attributes, and texts, whose blanks count in the article alone."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[object] = []
        self.depth = 0
        self.feed(page)

    def handle_starttag(self, name: str, attrs: list[tuple[str, str | None]]) -> None:
        self.depth += name in ("article", "pre", "script")
        self.found.append((name, attrs))

    def handle_endtag(self, name: str) -> None:
        self.depth -= name in ("article", "pre", "script")
        self.found.append(name)

    def handle_data(self, text: str) -> None:
        self.found.append(text if self.depth else " ".join(text.split()))


@pytest.mark.parametrize("page", ["index.html", "pipeline/triton.html", "explorer/relu.html"])
def test_a_page_in_fewer_bytes_is_the_same_page(site: Path, page: str) -> None:
    before = (site / page).read_text(encoding="utf-8")
    after = compact(before, set(re.findall(r'id="([^"]+)"', before)))
    assert len(after) < 0.97 * len(before)
    assert Nodes(after).found == Nodes(before).found


def test_a_line_keeps_its_id_where_a_link_leads_to_it() -> None:
    lines = "".join(f'<span id="src-a-b-L{at}">{at}</span>' for at in range(1, 4))
    page = compact(f"<article><pre>{lines}</pre></article>", {"src-a-b-L2"})
    assert page == (
        "<article><pre><span>1</span><span id=src-a-b-L2>2</span><span>3</span></pre></article>"
    )


def test_a_page_of_another_make_stays_as_it_is() -> None:
    assert compact(STYLE + '<p class="a">\n\n b</p>') == STYLE + '<p class="a">\n\n b</p>'


# ------------------------------------------------------------------------ the site, in two versions


@pytest.fixture(scope="module")
def two(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project's site as those of two versions, the older one with a page more."""
    folder = tmp_path_factory.mktemp("two")
    shutil.copytree(site, folder / "older")
    shutil.copy(site / "pipeline/guards.html", folder / "older/pipeline/gone.html")
    words = [f"2.13.0={site}", f"2.12.0={folder / 'older'}"]
    assert version_tree.main([str(folder / "out"), *words]) == 0
    return folder / "out"


def test_each_page_of_the_site_leads_to_itself_in_the_other_version(two: Path) -> None:
    checked = 0
    for version in ("2.13.0", "2.12.0"):
        for page in (two / version).rglob("*.html"):
            ways = re.findall(r'<a href="([^"]+)" class=md-version__link>', page.read_text("utf-8"))
            names = {(page.parent / way).resolve().relative_to(two).as_posix() for way in ways}
            name = page.relative_to(two / version).as_posix()
            if ways and name != "pipeline/gone.html":
                assert names == {f"2.13.0/{name}", f"2.12.0/{name}"}
                checked += 1
    assert checked > 160


def test_no_link_of_the_tree_is_dead(two: Path) -> None:
    there = {path.relative_to(two).as_posix() for path in two.rglob("*") if path.is_file()}
    checked = set[str]()
    for page in (path for path in sorted(there) if path.endswith(".html")):
        tags = (n for n in Nodes((two / page).read_text("utf-8")).found if isinstance(n, tuple))
        for name, attributes in tags:
            for link in (v for k, v in attributes if k in ("href", "src", "data-src") and v):
                parts = urlsplit(link)
                if name != "base" and not parts.scheme and not parts.netloc and parts.path:
                    path = posixpath.join(posixpath.dirname(page), unquote(parts.path))
                    assert posixpath.normpath(path) in there, (page, link)
                    checked.add(path)
    assert len(checked) > 3000


@pytest.mark.browser
@pytest.mark.parametrize("scripts", [True, False])
@pytest.mark.parametrize("name", ONE_OF_EACH_KIND)
def test_the_switch_of_each_kind_of_page(two: Path, browser, name: str, scripts: bool) -> None:
    page = browser.new_context(java_script_enabled=scripts).new_page()
    page.goto((two / "2.13.0" / name).as_uri())
    for version in ("2.12.0", "2.13.0"):
        page.locator(".md-version__current").focus()
        page.locator(".md-version__link", has_text=version).click()
        page.wait_for_url(f"**/{version}/{name}")
    page.context.close()
