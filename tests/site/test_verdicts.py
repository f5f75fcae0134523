"""Beliefs: verdicts of several versions in one table, each under its heading, none out of date."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from tclab.errors import PageError
from tclab.model import Provenance, Run, Table
from tclab.site import snippets
from tclab.site.pages.prose.text import PageText
from tclab.site.pages.rendering import Page, RunningBlock
from tclab.site.pages.site import verdicts
from tclab.site.store import recordings

ROOT = Path(__file__).resolve().parents[2]
THREADS = json.loads((Path(__file__).parent / "data/threads.json").read_text("utf-8"))
#: Read alone: reading all snippets takes a second in each worker.
JUDGING = [snippets.read(p, ROOT) for p in sorted((ROOT / "snippets/beliefs").glob("[!_]*.py"))]
#: The same on every PyTorch: judged from a GPU's rows, or an example of how to judge.
ONCE = {"beliefs/speed_on_an_h200", "beliefs/a_verdict_from_cases"}

HERE = Provenance("2.13.0", "", "3.11", "a CPU", "Linux", "2026-11-22")
PRINTS = ("A `print` breaks the graph", "holds only if no option is set", "2 graphs", "")
COPIES = ("`copy.deepcopy` breaks the graph", "does not hold", "1 graph", "")


def judged(*rows: tuple[str, str, str, str], torch: str = "2.13.0+cpu") -> Run:
    table = Table("T", "verdicts", verdicts.COLUMNS, rows)
    provenance = replace(HERE, torch=torch)
    return Run("beliefs/x", "here", "", provenance, 1.0, 1, artifacts=(table,))


def differing() -> list[Run]:
    older = (COPIES[0], "holds", "2 graphs", "")
    return [judged(PRINTS, COPIES), judged(PRINTS, older, torch="2.9.1+cu128"), judged(PRINTS)]


def test_the_verdicts_of_each_version_stand_side_by_side() -> None:
    prints, copies = verdicts.read_beliefs(differing())
    assert prints.verdicts == dict.fromkeys(["PyTorch 2.13", "PyTorch 2.9"], PRINTS[1])
    assert copies.verdicts == {"PyTorch 2.13": "does not hold", "PyTorch 2.9": "holds"}
    assert copies.differs and not prints.differs


def test_versions_are_ordered_as_numbers_and_a_gpu_comes_last() -> None:
    on_a_gpu = (*PRINTS[:3], "NVIDIA H200, PyTorch 2.11.0")
    runs = [judged(PRINTS, on_a_gpu), *differing()]
    places = verdicts.judged_places(verdicts.read_beliefs(runs))
    assert places == ["PyTorch 2.9", "PyTorch 2.13", "NVIDIA H200, PyTorch 2.11.0"]


def test_what_was_seen_is_said_again_only_where_the_verdict_differs() -> None:
    beliefs = verdicts.read_beliefs(differing())
    html = verdicts.beliefs_table(beliefs, {b.text: "#there" for b in beliefs}, "T")
    assert html.count("tclab-differs") == 1  # one belief
    same, other = html.split("<tr>")[-2:]
    assert same.count("2 graphs") == 1
    assert re.search(r"PyTorch 2\.13</small></p>[^/]*1 graph<", other)
    assert re.search(r"PyTorch 2\.9</small></p>[^/]*2 graphs<", other)


SAVES = "no option is set: 2 graphs; on a layer, or two: 3 graphs; it is saved: 1 graph; last: 4 s"


@pytest.mark.parametrize(
    ("verdict", "said", "signs"),
    [
        ("holds only if it is saved", "holds in 1 of 4 cases: it is saved", "✗✗✓✗"),
        (
            "holds only if no option is set or on a layer, or two or last",
            "holds in 3 of 4 cases, not in: it is saved",
            "✓✓✗✓",
        ),
        ("does not hold", "does not hold", "✗✗✗✗"),
    ],
)
def test_a_verdict_is_a_sentence_and_its_cases_are_folded(
    verdict: str, said: str, signs: str
) -> None:
    beliefs = verdicts.read_beliefs([judged((PRINTS[0], verdict, SAVES, ""))])
    html = verdicts.beliefs_table(beliefs, {PRINTS[0]: "#there"}, "T")
    assert f"</span>{said}</p>" in html
    cases = re.findall("<li>(.) ", html.partition("<summary>4 cases</summary>")[2])
    assert "".join(cases) == signs


def test_a_verdict_of_one_case_says_so_and_counts_as_what_it_is() -> None:
    once = (COPIES[0], f"does not hold{verdicts.ONE_CASE_SUFFIX}", "1 graph", "")
    judged_once = verdicts.read_beliefs([judged(PRINTS, once)])
    html = verdicts.beliefs_table(judged_once, {b.text: "#" for b in judged_once}, "T")
    assert "in the one case tried" in html and "✗" in html
    summary = str(verdicts._summary_table(judged_once))
    assert re.findall(r">(\d+)<", summary) == ["2", "0", "1", "1"]  # beliefs, hold, only if, not


def test_a_verdict_is_said_once_where_all_versions_agree() -> None:
    beliefs = verdicts.read_beliefs([judged(PRINTS), judged(PRINTS, torch="2.11.0")])
    html = verdicts.beliefs_table(beliefs, {PRINTS[0]: "#there"}, "T")
    row, note = html.split("<tr>")[-1].split("</table>")
    assert row.count(PRINTS[1]) == 1 and "PyTorch 2" not in row
    assert "PyTorch 2.11 and PyTorch 2.13" in note


def test_a_verdict_that_differs_names_the_versions_of_each() -> None:
    beliefs = verdicts.read_beliefs(differing())
    html = verdicts.beliefs_table(beliefs, {b.text: "#there" for b in beliefs}, "T")
    differs = html.split("<tr>")[-1]
    assert re.search(r"does not hold<small>PyTorch 2\.13<", differs)
    assert re.search(r"</span>holds<small>PyTorch 2\.9<", differs)


def test_a_verdict_has_a_sign_that_a_screen_reader_leaves_out() -> None:
    holds = ("A belief", "holds", "seen", "")
    beliefs = verdicts.read_beliefs([judged(PRINTS, COPIES, holds)])
    html = verdicts.beliefs_table(beliefs, {b.text: "#there" for b in beliefs}, "T")
    signs = re.findall(r'<span class="tclab-sign (\S+)" aria-hidden="true">(.)</span>', html)
    assert signs == [("tclab-partly", "◐"), ("tclab-no", "✗"), ("tclab-yes", "✓")]


def test_a_version_that_did_not_judge_a_belief_is_not_named_for_it() -> None:
    beliefs = verdicts.read_beliefs([judged(PRINTS, COPIES), judged(PRINTS, torch="2.11.0")])
    html = verdicts.beliefs_table(beliefs, {b.text: "#there" for b in beliefs}, "T")
    copied = html.split("<tr>")[-1].split("</table>")[0]
    assert "<small>PyTorch 2.13</small>" in copied and "2.11" not in copied


def test_a_run_without_verdicts_is_an_error_with_its_cause() -> None:
    with pytest.raises(PageError, match="shows no table of verdicts"):
        verdicts.read_beliefs([replace(judged(PRINTS), artifacts=())])
    wrong = Table("T", "verdicts", ("belief",), ((PRINTS[0],),))
    with pytest.raises(PageError, match="shows no table of verdicts"):
        verdicts.read_beliefs([replace(judged(PRINTS), artifacts=(wrong,))])


def on_a_page(text: str) -> str:
    block = RunningBlock(Page("page.md", "page.html"), "page.md:3")
    return verdicts.snippet_table(block, PageText("page.md", text), "beliefs/x", [judged(PRINTS)])


def test_a_belief_leads_to_its_heading() -> None:
    html = on_a_page("# Title\n\n### A `print` breaks the graph\n")
    assert 'href="#a-print-breaks-the-graph"' in html and "run by this build" in html


def test_a_belief_without_a_heading_is_an_error() -> None:
    with pytest.raises(PageError, match="no heading for the belief 'A `print` breaks the graph'"):
        on_a_page("# Title\n\n### A `print` breaks it\n")


# --------------------------------------------------------------------------- what is kept


@pytest.mark.parametrize(
    "environment", ["cpu-torch2.11", "cpu-torch2.12", "cpu-torch2.14", "cpu-torch2.15"]
)
@pytest.mark.parametrize("snippet", JUDGING, ids=lambda s: s.name)
def test_each_belief_was_judged_on_other_versions_by_this_very_snippet(
    snippet, environment
) -> None:
    if snippet.name in ONCE:
        assert recordings.status(ROOT, environment, snippet).state == "never"
        return
    status = recordings.status(ROOT, environment, snippet)
    assert status.fresh, (status.state, status.why, f"tclab record {environment} {snippet.name}")
    run = status.run()
    assert environment == f"cpu-torch{'.'.join(run.provenance.torch.split('.')[:2])}"
    assert not run.provenance.gpu and verdicts.read_beliefs([run])
    alone = [
        b.text for b in verdicts.read_beliefs([run]) if verdicts.ONE_CASE_SUFFIX in str(b.verdicts)
    ]
    assert not alone, "try it in a case that should refute the verdict, and in real code"


def test_threads_are_public_ones_each_with_a_page() -> None:
    assert 20 <= len(THREADS) == len({thread["source"] for thread in THREADS})
    for thread in THREADS:
        assert thread.keys() == {"query", "page", "source"}
        assert thread["source"].startswith("https://") and len(thread["query"].split()) > 1
        assert (ROOT / "docs" / f"{thread['page']}.md").is_file(), thread
