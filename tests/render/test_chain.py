from __future__ import annotations

import base64
import hashlib
import json
import random
import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise

import pytest
from read_html import Page

from tclab import render
from tclab.model import Chain, Kernel, Listing
from tclab.render import standalone
from tclab.render.closure import Index
from tclab.render.kinds import chain as chains

STAGES = ("python", "dynamo", "forward", "kernel", "ptx", "sass")

SMALL = Chain(
    "Small", "small",
    (
        Listing("f", "f", "y = x + 1\nz = y * 2\n", "python", "python", "a.py", 5,
                marks={1: ("py:5",), 2: ("py:6",)}),
        Listing("Graph", "g", "add = x + 1\nmul = add * 2\nreturn mul\n", "python", "dynamo",
                links={1: ("py:5",), 2: ("py:6",)}, marks={1: ("fx:add",), 2: ("fx:mul",)}),
        Kernel("k0", "k0", "tmp0 = load\ntmp1 = tmp0 + 1\n", "python", "kernel",
               links={2: ("fx:add",)}, marks={2: ("k0:2",)}, facts={"bytes": "8,000"}),
        Kernel("k1", "k1", "tmp0 = load\ntmp1 = tmp0 * 2\nstore\n", "python", "kernel",
               links={2: ("fx:mul",), 3: ("fx:mul",)}, marks={2: ("k1:2",), 3: ("k1:3",)}),
        Listing("ptx", "ptx", ".loc 1 2\nadd.f32\n", "text", "ptx", links={2: ("k0:2",)}),
    ), "0/0",
)  # fmt: skip


def at_random(seed: int, lines: int = 12) -> Chain:
    """A chain whose lines are linked at random to lines above, over keys that they share."""
    choose = random.Random(seed)
    panes: list[Listing] = []
    keys: list[str] = []
    for number, stage in enumerate(STAGES):
        links, marks = {}, {}
        for line in range(1, lines + 1):
            links[line] = tuple(choose.sample(keys, min(len(keys), choose.randrange(3))))
            own = [f"{stage}:{choose.randrange(lines)}" for _ in range(choose.randrange(3))]
            marks[line] = tuple(dict.fromkeys(own))
        code = "".join(f"{stage} line {i}\n" for i in range(lines))
        panes.append(
            Listing(stage, stage, code, "text", stage, "", 1 + number, links=links, marks=marks)
        )
        keys += sorted({key for several in marks.values() for key in several})
    return Chain("Random", "random", tuple(panes))


def lit(chain: Chain, pane: int, line: int) -> set[tuple[int, int]]:
    """What a click lights, read from the definition, key by key: (pane, line) from 1."""

    def above(pane: int, line: int) -> set[tuple[int, int]]:
        wanted = set(chain.panes[pane].links.get(line, ()))
        found = set()
        for p, listing in enumerate(chain.panes):
            for n, keys in listing.marks.items():
                if wanted & set(keys):
                    found |= {(p, n)} | above(p, n)
        return found

    def below(pane: int, line: int) -> set[tuple[int, int]]:
        own = set(chain.panes[pane].marks.get(line, ()))
        found = set()
        for p, listing in enumerate(chain.panes):
            for n, keys in listing.links.items():
                if own & set(keys):
                    found |= {(p, n)} | below(p, n)
        return found

    return {(pane, line)} | above(pane, line) | below(pane, line)


# ------------------------------------------------------------------------- which lines


@pytest.mark.parametrize("seed", range(8))
def test_the_closure_is_what_the_keys_say(seed):
    chain = at_random(seed)
    index = Index.of(chain)
    some = random.Random(seed).sample(range(sum(index.counts)), 24)
    for line in some:
        pane, number = index.pane(line), line - index.starts[index.pane(line)] + 1
        wanted = {index.starts[p] + n - 1 for p, n in lit(chain, pane, number)}
        assert index.closure(line) == wanted


def test_siblings_stay_dark():
    index = Index.of(SMALL)
    assert index.closure(0) == {0, 2, 6, 11}  # y = x + 1: add, tmp1 of k0, add.f32
    assert index.closure(1) == {1, 3, 8, 9}  # mul and both lines of k1
    assert index.closure(8) == {1, 3, 8}  # not line 3 of k1, though it is from mul too
    assert index.closure(5) == {5}


def test_a_line_that_stands_for_itself_ends_the_walk():
    loop = Listing("x", "x", "a\nb\n", links={1: ("k",), 2: ("j",)}, marks={1: ("j",), 2: ("k",)})
    assert Index.of(Chain(panes=(loop,))).closure(0) == {0, 1}


def test_keys_that_lead_nowhere_and_lines_that_do_not_exist_join_nothing():
    odd = replace(SMALL.panes[1], links={99: ("py:5",), 1: ("gone",)}, marks={0: ("fx:add",)})
    assert Index.of(replace(SMALL, panes=(SMALL.panes[0], odd))).joins == ()


def test_the_page_gets_the_same_joins():
    index = Index.of(at_random(3))
    data = json.loads(index.json())
    assert tuple(data["counts"]) == index.counts

    def undo(distances):
        return tuple(sum(distances[: i + 1]) for i in range(len(distances)))

    assert tuple((undo(m), undo(k)) for m, k in data["joins"]) == index.joins
    assert all(a < b for join in index.joins for side in join for a, b in pairwise(side))


# ------------------------------------------------------------------------------- the HTML


class Lines(HTMLParser):
    """The text of each pane's lines, without line numbers' and origins' markup."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.panes: list[str] = []
        self.take = self.skip = False
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        if tag == "pre" and "tclab-lines" in (dict(attrs).get("class") or ""):
            self.take = True
            self.panes.append("")
        self.skip = self.skip or tag == "em"

    def handle_endtag(self, tag):
        self.take = self.take and tag != "pre"
        self.skip = self.skip and tag != "em"

    def handle_data(self, data):
        if self.take and not self.skip:
            self.panes[-1] += data


NASTY = (
    "</script></pre></span><b>&lt; '\"`~~~ --8<-- 漢字 é 🦊 \u2028 \x00 \x1b[31m " + "x" * 20_000
)


@pytest.mark.parametrize("marked", [True, False])
def test_every_pane_shows_its_text_whatever_it_is(marked, monkeypatch):
    monkeypatch.setattr(chains, "MARKED_LINES", 10**6 if marked else 0)
    code = f"\n{NASTY}\n\n  indented\n"
    panes = tuple(Listing(NASTY, "n", code, "text", stage, NASTY) for stage in STAGES)
    html = render.html(Chain(NASTY, "c", panes), prefix="c")
    Page(html)  # balanced, so nothing of the text is markup
    for text, pane in zip(Lines(html).panes, panes, strict=True):
        bare = not marked and pane.stage in chains.MACHINE
        # A browser drops the newline right after <pre>.
        assert text == ("\n" if bare else "") + render.clean(code)
    assert html.count("</script>") == 1


def test_each_line_can_be_linked_to_and_names_its_origin():
    page = Page(render.html(SMALL, prefix="c"))
    assert {"c-python-L5", "c-python-L6", "c-dynamo-L3", "c-kernel-L2", "c-kernel-2-L3"} <= set(
        page.ids
    )
    assert len(set(page.ids)) == len(page.ids)
    assert set(page.links) == {
        "#c-python-L5",
        "#c-python-L6",
        "#c-dynamo-L1",
        "#c-dynamo-L2",
        "#c-kernel-L2",
    }
    stages = [a["data-stage"] for a in page.named("details")]
    assert stages == ["python", "dynamo", "kernel", "kernel", "ptx"]
    lines = [a["data-line"] for _, a in page.tags if "data-line" in a]
    assert lines == ["5", "6", "1", "2", "3", "1", "2", "1", "2", "3", "1", "2"]
    assert "8,000" in page.text


def test_without_the_script_nothing_is_hidden_but_its_own_controls():
    page = Page(render.html(SMALL, prefix="c"))
    hidden = [a["class"] for _, a in page.tags if "hidden" in a]
    assert hidden == ["tclab-chooser", "tclab-help"]


def test_a_long_chain_leaves_machine_code_without_markup(monkeypatch):
    monkeypatch.setattr(chains, "MARKED_LINES", 5)
    page = Page(render.html(SMALL, prefix="c"))
    bare = [a for a in page.named("pre") if "tclab-bare" in a["class"]]
    assert len(bare) == 1
    assert "\n\n2" in page.text  # PTX line 2 is from line 2 of the kernel
    assert "c-kernel-L2" in page.ids and "c-ptx" in page.ids and "c-ptx-L2" not in page.ids


def test_a_long_chain_stays_light():
    one = at_random(1, lines=3000)
    html = render.html(one, prefix="c")
    machine = html[html.index('data-column="ptx"') : html.index('<p class="tclab-said"')]
    text = sum(len(p.code) for p in one.panes if p.stage in chains.MACHINE)
    assert len(machine) < text + 6 * 6000 + 2000


def test_sass_without_empty_columns_keeps_its_lines():
    code = (
        '\t//## File "<inductor-cache>/ab/cab.py", line 3\n'
        "        /*0010*/                   LDG.E R4, [R2] ;\n"
        "        /*0020*/              @!P0 EXIT ;\n"
    )
    html = render.html(Chain("", "c", (Listing("s", "s", code, "text", "sass"),)), prefix="c")
    assert Lines(html).panes == [
        '\t//## File "cab.py", line 3\n/*0010*/      LDG.E R4, [R2] ;\n/*0020*/ @!P0 EXIT ;\n'
    ]


def test_the_order_of_keys_and_panes_ids_decide_nothing():
    def turned(pane):
        marks = {n: tuple(reversed(keys)) for n, keys in reversed(pane.marks.items())}
        links = {n: tuple(reversed(keys)) for n, keys in reversed(pane.links.items())}
        return replace(pane, marks=marks, links=links)

    chain = at_random(5)
    other = replace(chain, panes=tuple(map(turned, chain.panes)))
    assert render.html(chain, prefix="c") == render.html(other, prefix="c")


def test_empty_chains_and_panes_say_so():
    assert "Nothing was compiled." in render.html(Chain("t", "c"))
    assert "Lines: none." in render.text(Chain("t", "c"))
    html = render.html(Chain("t", "c", (Listing("e", "e", ""), SMALL.panes[0])), prefix="c")
    assert "Empty." in html and json.loads(re.search(r"json\">(.*?)<", html)[1])["counts"] == [0, 2]


def test_text_says_what_each_line_became():
    assert render.text(SMALL).split("\n") == [
        "Small",
        "f: a.py",
        "line  code       became lines of",
        "────  ─────────  ─────────────────────────",
        "5     y = x + 1  dynamo 1, kernel 1, ptx 1",
        "6     z = y * 2  dynamo 1, kernel 2",
        "Lines: Python 2, Dynamo graph 3, Triton kernel 5, PTX 2.",
    ]


# ----------------------------------------------------------------------------- the report


def test_a_report_stands_alone():
    html = standalone.page("A <title> & more", render.figure(SMALL, prefix="c"))
    page = Page(html.removeprefix("<!doctype html>\n"))
    assert "A <title> & more" in page.text
    names = {name for _, attrs in page.tags for name in attrs}
    assert not names & {"src", "srcset", "data", "poster", "action"}
    assert [a["href"] for a in page.named("link")] == ["data:,"]
    assert "http" not in html.replace("http-equiv", "") and "url(" not in html


def test_a_report_may_run_its_own_script_only():
    html = standalone.page("t", "")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)[1]
    scripts = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
    assert len(scripts) == 1 and f"script-src 'sha256-{digest}';" in policy
    assert "default-src 'none'" in policy


def test_a_report_is_dark_where_the_system_is():
    html = standalone.page("t", "")
    dark = html[html.index("prefers-color-scheme: dark") :]
    assert dark.index("--tclab-mark: #4d4416") < dark.index("color-scheme: light dark")
