"""Sentences and beliefs that a step from one PyTorch to the next changed, as a page has them."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from tclab.errors import PageError
from tclab.model import Provenance, Run, Table
from tclab.site.pages.prose.text import PageText
from tclab.site.pages.rendering import Page, RunningBlock
from tclab.site.pages.site import changes, verdicts

CHAPTER = PageText(
    "docs/pipeline/x.md",
    "# The `x` chapter\n\n"
    "[It **was** one, as [here](y.md).](claim:a/x#was)\n\n[It is two.](claim:a/x#is)\n\n"
    "On one version [it is three](claim:a/x#three).\n",
)
BELIEF = "A `print` breaks the graph"


def run(claims: list[tuple[str, ...]], beliefs: list[tuple[str, ...]]) -> Run:
    machine = Provenance("2.13.0", "abc", "3.11", "a CPU", "Linux", "2026-11-23")
    tables = (
        Table("Claims", "claims", ("claim", "2.13", "2.14"), tuple(claims)),
        Table("Beliefs", "beliefs", ("belief", "2.13", "2.14"), tuple(beliefs)),
    )
    return Run("changes/x", "here", "", machine, 1.0, 1, tables)


def judged() -> Run:
    table = Table("T", "verdicts", verdicts.COLUMNS, ((BELIEF, "holds", "", ""),))
    return replace(run([], []), snippet="beliefs/x", artifacts=(table,))


def book() -> Any:
    return SimpleNamespace(
        sentences=CHAPTER.sentences,
        pages={CHAPTER.page: CHAPTER},
        url=lambda page: page.removeprefix("docs/").replace(".md", ".html"),
        uses=[SimpleNamespace(function="verdicts", page="docs/beliefs/b.md", snippet="beliefs/x")],
        select_runs=lambda name, place: [judged()],
    )


def html(claims: list[tuple[str, ...]], beliefs: list[tuple[str, ...]] = []) -> str:  # noqa: B006
    block = RunningBlock(
        Page("docs/changes/2.14.md", "changes/2.14.html"), "docs/changes/2.14.md:3"
    )
    return changes.html(block, book(), run(claims, beliefs))


def test_of_a_part_the_whole_sentence_is_shown() -> None:
    assert "On one version it is three." in html([("a/x#three", "held", "false")])


def test_a_sentence_that_no_longer_holds_leads_to_its_page() -> None:
    shown = html([("a/x#was", "held", "false")])
    assert "Held in 2.13, not in 2.14" in shown and "Holds in" not in shown
    assert 'href="../pipeline/x.html"' in shown and "<code>x</code> chapter" in shown
    assert "It was one, as here." in shown and "y.md" not in shown and "claim:" not in shown


def test_a_sentence_that_came_true_stands_apart() -> None:
    shown = html([("a/x#was", "held", "not reached"), ("a/x#is", "not reached", "held")])
    gone, _, come = shown.partition("Holds in 2.14, not in 2.13")
    assert "was" in gone and "It is two." in come and "It is two." not in gone


def test_a_sentence_that_speaks_of_both_versions_is_no_change() -> None:
    both = [("a/x#was", "held", "false"), ("a/x#was", "false", "held")]
    page = html([*both, ("a/x#is", "false", "held")])
    assert "It was one" not in page and "It is two" in page


def test_an_assert_without_a_sentence_has_its_name() -> None:
    assert "<code>a/y#it</code>" in html([("a/y#it", "held", "false")])


def test_a_belief_leads_to_its_heading() -> None:
    shown = html([], [(BELIEF, "holds", "does not hold")])
    assert 'href="../beliefs/b.html#a-print-breaks-the-graph"' in shown
    assert "does not hold" in shown


def test_nothing_is_said_to_be_nothing() -> None:
    assert "No sentence and no belief" in html([])


def test_a_snippet_that_is_of_no_step_is_an_error() -> None:
    block = RunningBlock(Page("page.md", "page.html"), "page.md:3")
    with pytest.raises(PageError, match="claims"):
        changes.html(block, book(), replace(run([], []), artifacts=()))
