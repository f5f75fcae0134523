from __future__ import annotations

import base64
import hashlib
import json
import random
import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import accumulate, pairwise

import pytest
from read_html import Page

from tclab import render
from tclab.model import Chain, Kernel, KernelFacts, Listing
from tclab.render import standalone
from tclab.render.closure import Index
from tclab.render.options import Options
from tclab.render.viewer import frame
from tclab.render.viewer.panes import BARE

STAGES = ("python", "dynamo", "forward", "kernel", "ptx", "sass")

FACTS = KernelFacts(written={"bytes": "8,000"})
SMALL = Chain(
    "Small", "small",
    (
        Listing("f", "f", "y = x + 1\nz = y * 2\n", "python", "python", "a.py", 5,
                marks={1: ("py:5",), 2: ("py:6",)}),
        Listing("Graph", "g", "add = x + 1\nmul = add * 2\nreturn mul\n", "python", "dynamo",
                links={1: ("py:5",), 2: ("py:6",)}, marks={1: ("fx:add",), 2: ("fx:mul",)}),
        Kernel("k0", "k0", "tmp0 = load\ntmp1 = tmp0 + 1\n", "python", "kernel",
               links={2: ("fx:add",)}, marks={2: ("k0:2",)}, facts=FACTS),
        Kernel("k1", "k1", "tmp0 = load\ntmp1 = tmp0 * 2\nstore\n", "python", "kernel",
               links={2: ("fx:mul",), 3: ("fx:mul",)}, marks={2: ("k1:2",), 3: ("k1:3",)}),
        Listing("ptx", "ptx", ".loc 1 2\nadd.f32\n", "text", "ptx", links={2: ("k0:2",)}),
    ), "0/0",
)  # fmt: skip


def at_random(seed: int, lines: int = 12) -> Chain:
    """Return a chain whose lines are linked at random to lines above, over keys that they share."""
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
    index = Index.from_chain(chain)
    some = random.Random(seed).sample(range(sum(index.counts)), 24)
    for line in some:
        pane, number = index.pane(line), line - index.starts[index.pane(line)] + 1
        wanted = {index.starts[p] + n - 1 for p, n in lit(chain, pane, number)}
        assert index.closure(line) == wanted


def test_siblings_stay_dark():
    index = Index.from_chain(SMALL)
    assert index.closure(0) == {0, 2, 6, 11}  # y = x + 1: add, tmp1 of k0, add.f32
    assert index.closure(1) == {1, 3, 8, 9}  # mul and both lines of k1
    assert index.closure(8) == {1, 3, 8}  # not line 3 of k1, though it is from mul too
    assert index.closure(5) == {5}


def test_a_line_that_stands_for_itself_ends_the_walk():
    loop = Listing("x", "x", "a\nb\n", links={1: ("k",), 2: ("j",)}, marks={1: ("j",), 2: ("k",)})
    assert Index.from_chain(Chain(panes=(loop,))).closure(0) == {0, 1}


def test_keys_that_lead_nowhere_and_lines_that_do_not_exist_join_nothing():
    odd = replace(SMALL.panes[1], links={99: ("py:5",), 1: ("gone",)}, marks={0: ("fx:add",)})
    assert Index.from_chain(replace(SMALL, panes=(SMALL.panes[0], odd))).joins == ()


def test_the_page_gets_the_same_joins():
    index = Index.from_chain(at_random(3))
    data = index.payload()
    assert tuple(data["counts"]) == index.counts
    before = [0, 0]
    undone = []
    for join in data["joins"]:
        lines = [tuple(accumulate(d, initial=at))[1:] for d, at in zip(join, before, strict=True)]
        before = [side[0] for side in lines]
        undone.append(tuple(lines))
    assert tuple(undone) == index.joins
    assert all(a < b for join in index.joins for side in join for a, b in pairwise(side))


@pytest.mark.parametrize("seed", range(4))
def test_a_line_s_owners_are_the_sources_that_say_most(seed):
    chain = at_random(seed)
    index = Index.from_chain(chain)
    sources = range(index.counts[0])
    became = {source: index.descendants(source) for source in sources}
    owners = index.nearest_sources(sources)
    for line in range(sum(index.counts)):
        every = [source for source in sources if line in became[source]]
        kept = owners.get(line, ())
        assert set(kept) <= set(every) and bool(kept) == bool(every)
        for source in every:  # left out only for another that says more, or the same
            tells = [
                other for other in every if other != source and became[other] <= became[source]
            ]
            assert (source in kept) == (
                not any(became[o] < became[source] or o > source for o in tells)
            )


def test_a_call_gives_way_to_the_line_that_is_called():
    caller = Listing("f", "f", "call\nown\n", "python", "python", marks={1: ("a", "b"), 2: ("c",)})
    callee = Listing("g", "g", "inner\n", "python", "python", marks={1: ("a",)})
    graph = Listing("g", "g", "x\ny\nz\n", "python", "dynamo",
                    links={1: ("a",), 2: ("b",), 3: ("c",)})  # fmt: skip
    index = Index.from_chain(Chain(panes=(caller, callee, graph)))
    assert index.nearest_sources(range(3)) == {3: (2,), 4: (0,), 5: (1,)}


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


@pytest.mark.parametrize("stage", [*STAGES, "ir", "asm", "ttir", "llir"])
def test_every_pane_shows_its_text_whatever_it_is(stage):
    code = f"\n{NASTY}\n\n  indented\n"
    html = render.html(Chain(NASTY, "c", (Listing(NASTY, "n", code, "text", stage, NASTY),)))
    Page(html)  # balanced, so nothing of the text is markup
    # A browser drops the newline right after <pre>.
    assert Lines(html).panes == [("\n" if stage in BARE else "") + render.clean(code)]
    assert html.count("</script>") == 1


def test_a_line_that_is_led_to_has_an_anchor_and_each_names_its_origin():
    page = Page(render.html(SMALL, Options("c")))
    anchors = {"c-python-L5", "c-python-L6", "c-dynamo-L1", "c-dynamo-L2", "c-kernel-L2"}
    assert anchors <= set(page.ids)
    assert len(set(page.ids)) == len(page.ids)
    origins = [link for link in page.links if "-L" in link]
    assert set(origins) == {f"#{anchor}" for anchor in anchors - {"c-kernel-L2"}}
    stages = [a["data-stage"] for a in page.named("details") if "data-stage" in a]
    assert stages == ["python", "dynamo", "kernel", "kernel", "ptx"]
    assert "8,000" in page.text
    assert "\n\n2" in page.text  # PTX line 2 is from line 2 of the kernel


def test_lines_are_counted_from_where_the_code_begins():
    page = Page(render.html(SMALL, Options("c")))
    starts = [re.search(r"--n:(\d+);--a:(\d+)", a["style"]) for a in page.named("t-c")]
    assert [(int(m[1]), int(m[2])) for m in starts] == [(4, 2), (0, 3), (0, 2), (0, 3)]


def test_long_panes_stand_in_chunks():
    html = render.html(Chain(panes=(Listing("f", "f", "x\n" * 120, "python", "kernel"),)))
    sizes = [re.findall(r"\d+", a["style"]) for a in Page(html).named("t-c")]
    assert sizes == [["0", "50", "50"], ["50", "50", "50"], ["100", "20", "20"]]


def test_what_the_script_will_choose_is_known_before():
    page = Page(render.html(SMALL, Options("c")))
    ranks = {a["data-column"]: a["data-rank"] for a in page.named("section")}
    assert ranks == {"python": "1", "kernel": "2", "ptx": "3", "dynamo": "4"}
    (tracks,) = (a["style"] for a in page.named("div") if a.get("class") == "tclab-columns")
    assert [len(re.findall("minmax", part)) for part in tracks.split(";")] == [2, 3, 4]
    assert frame.choose_open([500, 10, 20]) == [True, False, False]
    assert frame.choose_open([100, 350, 20]) == [True, False, True]
    assert frame.choose_open([100, 300, 1]) == [True, True, False]  # exactly what there is room for


def test_a_long_chain_stays_light():
    one = at_random(1, lines=3000)
    html = render.html(one, Options("c"))
    machine = html[html.index('data-column="ptx"') : html.index('<p class="tclab-said"')]
    text = sum(len(p.code) for p in one.panes if p.stage in BARE)
    assert len(machine) < text + 6 * 6000 + 4000


def test_sass_without_empty_columns_keeps_its_lines():
    code = (
        '\t//## File "<inductor-cache>/ab/cab.py", line 3\n'
        "        /*0010*/                   LDG.E R4, [R2] ;\n"
        "        /*0020*/              @!P0 EXIT ;\n"
    )
    html = render.html(Chain("", "c", (Listing("s", "s", code, "text", "sass"),)), Options("c"))
    assert Lines(html).panes == [
        '\n\t//## File "cab.py", line 3\n/*0010*/      LDG.E R4, [R2] ;\n/*0020*/ @!P0 EXIT ;\n'
    ]


def test_a_title_of_200_characters_makes_no_id_and_no_column_wide():
    title = "A title " * 25
    listing = Listing(title, "t", "x\n", "python", "python", title)
    html = render.figure(Chain(title, "c", (listing,)), options=Options("c"))
    page = Page(html)
    assert max(map(len, page.ids)) < 20
    assert [a["style"] for a in page.named("section")] == ["--w:30"]


def test_the_order_of_keys_and_panes_ids_decide_nothing():
    def turned(pane):
        marks = {n: tuple(reversed(keys)) for n, keys in reversed(pane.marks.items())}
        links = {n: tuple(reversed(keys)) for n, keys in reversed(pane.links.items())}
        return replace(pane, marks=marks, links=links)

    chain = at_random(5)
    other = replace(chain, panes=tuple(map(turned, chain.panes)))
    assert render.html(chain, Options("c")) == render.html(other, Options("c"))


def test_empty_chains_and_panes_say_so():
    assert "Nothing was compiled." in render.html(Chain("t", "c"))
    assert "Lines: none." in render.text(Chain("t", "c"))
    html = render.html(Chain("t", "c", (Listing("e", "e", ""), SMALL.panes[0])), Options("c"))
    data = json.loads(re.search(r"json\">(.*?)</script>", html)[1])
    assert "Empty." in html and data["counts"] == [0, 2]


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
    html = standalone.page("A <title> & more", render.figure(SMALL, options=Options("c")))
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
