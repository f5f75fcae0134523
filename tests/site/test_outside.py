"""Found from outside: addresses, descriptions, the sitemap, Markdown twins, lost addresses."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree as ET

import pytest
from mkdocs.utils import meta
from PIL import Image

from tclab.model import Table
from tclab.site import snippets
from tclab.site.engine import schedule
from tclab.site.engine.plan import Plan
from tclab.site.pages.prose.text import PageText
from tclab.site.pages.site import cards, descriptions, footer, markdown_pages
from tclab.site.store import recordings

_FENCED = re.compile(r"^(`{3,}).*?^\1$", re.MULTILINE | re.DOTALL)

DOCS = Path(__file__).resolve().parents[2] / "docs"
ADDRESS = "https://example.org/lab/"

PAGE = """---
title: Home
---
# Home

After this page you can [say](other.md) *hello*. It is short.

[It printed.](claim:start/hello#printed) It has [](value:start/hello#numbers/one/value) row.

```python exec="1" html="1"
from tclab.site.pages import snippet
snippet("start/hello")
```

Where: `src:torch.compile`.
"""

HELLO = '''"""Say hello."""

import tclab

tclab.show("````", title="Ticks")
tclab.show(tclab.Table("Numbers", "numbers", ("name", "value"), [("one", 1), ("a|b", 2)]))
told = "hello"
# claim: printed
assert told
print(told)
'''


@pytest.fixture
def written(project):
    project.write("snippets/start/hello.py", HELLO)
    project.write("docs/index.md", PAGE)
    return project


def test_a_site_with_an_address_has_canonical_links_and_a_sitemap(written) -> None:
    done = written.build("--strict", SITE_URL=ADDRESS)
    assert done.returncode == 0, done.stdout
    html = written.html()
    assert f'<link rel="canonical" href="{ADDRESS}index.html">' in html or (
        f'<link rel="canonical" href="{ADDRESS}">' in html
    )
    assert (
        '<meta name="description" content="After this page you can say hello. It is short.">'
        in (html)
    )
    tree = ET.parse(written.root / "site" / "sitemap.xml")
    found = [each.text for each in tree.iter() if each.tag.endswith("}loc")]
    assert found and all(str(each).startswith(ADDRESS) for each in found)
    assert f"]({ADDRESS}index.html.md): After" in (written.root / "site/llms.txt").read_text()
    lost = written.html("404.html")
    assert "There is no such page" in lost and f'href="{ADDRESS}index.html"' in lost


def test_a_twin_has_the_outputs_and_none_of_the_markup(written) -> None:
    assert written.build("--strict").returncode == 0
    text = (written.root / "site/index.html.md").read_text(encoding="utf-8")
    proof = re.search(
        r'It printed\. \[✓\]\((\S+) "held: PyTorch [^"]+, CPU"\) It has 1 row\.', text
    )
    file, _, anchor = proof[1].partition("#")
    assert file == "index.html" and f'id="{anchor}"' in written.html()
    assert "`torch.compile`" in text and "claim:start" not in text and "exec=" not in text
    assert "| one | 1 |" in text and r"| a\|b | 2 |" in text
    assert re.search(r"\n`{5}text\n(.*\n)*?````\n`{5}\n", text)  # a fence longer than what it holds
    assert "\n```text\nhello\n```\n" in text and "run by this build*" in text
    assert 'href="index.html.md"' in written.html() and "tclab run start" in written.html()


def test_a_twin_says_of_which_pytorch_a_sentence_is(written) -> None:
    """Without it two sentences that exclude each other stand side by side."""
    scoped = HELLO.replace("# claim: printed", "# claim: printed, torch >= 2.9").replace(
        "print(told)", "# claim: silent, torch < 2.9\nassert not told\nprint(told)"
    )
    written.write("snippets/start/hello.py", scoped)
    silent = PAGE.replace("It has", "[It was silent.](claim:start/hello#silent) It has")
    written.write("docs/index.md", silent)
    done = written.build("--strict")
    assert done.returncode == 0, done.stdout
    text = (written.root / "site/index.html.md").read_text(encoding="utf-8")
    assert "It printed. (PyTorch 2.9 and later) [✓](" in text
    assert "It was silent. (before PyTorch 2.9; not run here) It has" in text


def test_the_text_of_a_run_is_text_in_a_twin_too() -> None:
    """As on the page, where a value and a cell are escaped."""
    live = "[x](javascript:alert(1)) <b>a_b</b>\n**c** `d` _e_"
    table = Table(live, "t", ("what", "text"), (("one", live),))
    run = SimpleNamespace(artifact=lambda name: table, environment="here", artifacts=(table,))
    book = SimpleNamespace(select_runs=lambda name, place: [run])
    text = PageText("p.md", "# P\n\nIt is [](value:t/x#t/one/text).\n")
    inert = r"[x\](javascript:alert(1)) \<b\>a_b\</b\> \*\*c\*\* \`d\` \_e\_"
    assert f"It is {inert}." in markdown_pages.page_markdown(text, book)
    lines = markdown_pages._artifact_lines(table)
    assert f"| one | {inert} |" in lines and f"**{inert}**" in lines


def test_the_name_of_a_machine_is_text_in_a_twin(written) -> None:
    gpu = 'A "<img src=x> [x](javascript:alert(1))'
    (run,) = schedule.run(snippets.find(written.root), Plan(written.root), warm=False).values()
    made = replace(run.provenance, gpu=gpu, torch="2.11.0+cu130")
    recordings.write(
        written.root, "a-torch2.11", replace(run, provenance=made, environment="a-torch2.11")
    )
    assert written.build("--strict").returncode == 0
    text = (written.root / "site/index.html.md").read_text(encoding="utf-8")
    assert r'A \"<img src=x> [x](javascript:alert(1))")' in text  # in the title of the proof's link
    assert r'A "\<img src=x\> [x\](javascript:alert(1))' in text  # in the stamp


def test_a_twin_has_of_a_run_what_the_page_shows(written) -> None:
    calls = ('"numbers"', 'artifact="numbers"', 'artifact=["numbers"]')
    written.page('snippet("start/hello")', *(f'show("start/hello", {named})' for named in calls))
    assert written.build("--strict").returncode == 0
    text = (written.root / "site/index.html.md").read_text(encoding="utf-8")
    assert text.count("| one | 1 |") == 4 and len(re.findall("^`{5}text$", text, re.MULTILINE)) == 1


def test_a_caption_may_be_left_to_the_page_s_own_words(written) -> None:
    caption = "It does so at once."
    captioned = HELLO.replace("Say hello.", f"Say hello.\n\n{caption}\n")
    written.write("snippets/start/hello.py", captioned)
    for call, count in (
        ('snippet("start/hello", caption=False)', 0),
        ('snippet("start/hello")', 1),
    ):
        written.page(call)
        assert written.build("--strict").returncode == 0
        twin = (written.root / "site/index.html.md").read_text(encoding="utf-8")
        assert written.html().count(caption) == count
        assert twin.count(caption) == 1 + count  # once in the file itself


def test_a_page_says_which_outputs_are_folded(written) -> None:
    written.page('snippet("start/hello", closed=["numbers"])')
    assert written.build("--strict").returncode == 0
    assert "<summary>2 rows</summary>" in written.html()
    written.page('snippet("start/hello", opened=["nothing"])')
    assert "start/hello shows no 'nothing'" in written.fails("--strict")


def test_every_page_of_the_site_has_a_twin_and_a_line(site: Path) -> None:
    listed = (site / "llms.txt").read_text(encoding="utf-8")
    links = re.findall(r"^- \[[^\]]+\]\(([^)]+)\): (.*)$", listed, re.MULTILINE)
    assert len(links) > 40
    for address, description in links:
        assert (site / address).is_file(), address
        assert description or address.startswith("labs/"), address
    for twin in set(site.rglob("*.html.md")) - {site / "contributing.html.md"}:  # tells of both
        text = _FENCED.sub("", twin.read_text(encoding="utf-8"))
        assert "](claim:" not in text and "](value:" not in text and "`src:" not in text, twin


@pytest.mark.parametrize(
    ("markdown", "told"),
    [
        ("# T\n\nA *b* `c` [d](e.md).\n\nMore.", "A b c d."),
        ("# T\n\n| a |\n", ""),
        ("# T\n\n> Why `b`?\n\n[So.](claim:a/b#c) And\nso.\n", "Why b? So. And so."),
        ("# T\n\n> Why?\n\nSo. Of [](value:a/b#c/d/e) two. And so.\n", "Why? So."),
        ("# T\n\n> Why?\n\n" + "A sentence of words " * 10 + "is long.", "Why?"),
        (
            "# T\n\n" + "A sentence of words. " * 20,
            "A sentence of words. " * 8 + "A sentence of words.",
        ),
    ],
)
def test_the_opening_describes_a_page(markdown: str, told: str) -> None:
    assert descriptions.opening(markdown) == told


def test_a_lost_reader_is_led_to_each_section() -> None:
    pages = [
        markdown_pages.ListedPage("Home", "Home", "index.html", ""),
        markdown_pages.ListedPage("How it works", "The call", "pipeline/the-call.html", ""),
        markdown_pages.ListedPage("How it works", "Dynamo", "pipeline/dynamo.html", ""),
    ]
    html = footer.fill_not_found_page("<h1>404 - Not found</h1>", pages, "/")
    assert re.findall(r'href="([^"]+)">([^<]+)', html) == [
        ("/index.html", "Home"),
        ("/pipeline/the-call.html", "How it works"),
    ]


def test_a_site_with_an_address_has_a_picture_for_each_page(written) -> None:
    assert written.build("--strict", SITE_URL=ADDRESS).returncode == 0
    card = written.root / "site" / cards.card_path("index.html")
    with Image.open(card) as image:
        assert image.size == cards.SIZE and len(image.getcolors()) > 2  # paper, and letters on it
    assert f'<meta property="og:image" content="{ADDRESS}{cards.card_path("index.html")}">' in (
        written.html()
    )


def test_a_site_without_an_address_has_no_pictures(written) -> None:
    assert written.build("--strict").returncode == 0
    assert "og:image" not in written.html()
    assert not (written.root / "site/assets/cards").exists()


def test_a_card_is_the_same_each_time_and_holds_any_title(tmp_path: Path) -> None:
    title = "A title of two hundred letters " * 7
    drawn = []
    for name in ("a", "b"):
        cards.write_card(tmp_path / name, "x/y.html", "The lab", title, "About <it> & more. " * 20)
        drawn.append((tmp_path / name / "assets/cards/x-y.png").read_bytes())
    assert drawn[0] == drawn[1]
    assert "&lt;it&gt;" in cards.head_tags("x.html", ADDRESS, "The lab", "T", "<it>")


def test_what_a_page_says_of_itself_can_be_read() -> None:
    """A colon in an unquoted description makes MkDocs drop all of it, without a word."""
    pages = [p for p in DOCS.rglob("*.md") if p.read_text(encoding="utf-8").startswith("---\n")]
    unread = [p.name for p in pages if not meta.get_data(p.read_text(encoding="utf-8"))[1]]
    assert len(pages) > 20
    assert not unread
