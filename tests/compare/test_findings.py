"""Findings of two compiles: which came, went, or cost more, and which are the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tclab.compare import words
from tclab.compare.baseline import BETTER, SAME, WORSE, check_baseline
from tclab.compare.changes import compare_snapshots
from tclab.compare.identity import identify_findings
from tclab.compare.summary import CompileSummary
from tclab.model import Cost, Finding, GraphCounts, Snapshot, SourceLine

LINE = SourceLine("a/m.py", 7, "  y = x.t().contiguous()", "f")
COPIES = Finding("copies", "triton_poi_fused_clone_0 only copies (aten.clone)", (LINE,),
                 Cost(900, "byte a call", "counted"), ("Keep one layout.",))  # fmt: skip
BOUND = Finding("launch-bound", "36 launches take 0.2 ms", (), Cost(2e-4, "s a call", "computed"))
FAULT = Finding("known-fault", "a wrong result, pytorch#175966: int64, in pointwise aten.rand")
GRAPH = GraphCounts("dynamo", {"add": 1})


def summary(*found: Finding) -> CompileSummary:
    findings = identify_findings(found)
    snapshot = Snapshot(torch="2.13.0", graphs=(GRAPH,), findings=findings)
    return CompileSummary(snapshot, findings=found)


def lines(before: CompileSummary, now: CompileSummary) -> list[str]:
    return [*words.list_changes(compare_snapshots(before.snapshot, now.snapshot).changes, now)]


def test_a_finding_that_came_has_its_line_and_its_fix() -> None:
    assert lines(summary(), summary(COPIES)) == [
        "finding, new: copies: y = x.t().contiguous() in m.py",
        "    a/m.py:7: triton_poi_fused_clone_0 only copies (aten.clone)",
        "    fix: Keep one layout.",
    ]
    assert lines(summary(COPIES), summary()) == [
        "finding, gone: copies: y = x.t().contiguous() in m.py"
    ]


@pytest.mark.parametrize(
    "moved",
    [
        replace(COPIES, places=(replace(LINE, file="b/m.py", line=99),)),
        replace(COPIES, what="triton_poi_fused_clone_3 only copies (aten.clone)"),
        replace(COPIES, cost=Cost(901, "byte a call", "counted")),
    ],
)
def test_a_finding_is_the_same_on_another_line_and_in_another_kernel(moved: Finding) -> None:
    assert lines(summary(COPIES), summary(moved)) == []


def test_a_finding_of_other_code_is_another() -> None:
    other = replace(COPIES, places=(replace(LINE, code="z = y.t()"),))
    assert len(lines(summary(COPIES), summary(other))) == 4  # gone; new, with its line and its fix


def test_a_finding_of_the_whole_compile_gets_dearer() -> None:
    dearer = replace(BOUND, what="72 launches take 0.4 ms", cost=replace(BOUND.cost, amount=4e-4))
    assert lines(summary(BOUND), summary(dearer)) == [
        "finding, launch bound: 0.2 ms a call, computed to 0.4 ms a call, computed"
    ]


def test_a_time_that_was_measured_is_no_difference() -> None:
    once, again = (Finding("cache-bypass", "no", (), Cost(s, "s once", "measured")) for s in (1, 9))
    assert lines(summary(once), summary(again)) == []


def test_the_number_of_an_issue_is_no_number_that_grows() -> None:
    other = replace(FAULT, what=FAULT.what.replace("175966", "1"))
    assert lines(summary(FAULT), summary(FAULT)) == []
    assert len(lines(summary(FAULT), summary(other))) == 2


def test_breaks_and_recompiles_are_told_once() -> None:
    assert identify_findings((Finding("graph-break", "a"), Finding("recompile", "b"))) == ()


def test_what_came_is_worse_and_what_went_is_better(tmp_path: Path) -> None:
    def check(now: CompileSummary, *, update: bool = False) -> str:
        return check_baseline(tmp_path, "f", now, "graphs", update=update).status

    check(summary(COPIES), update=True)
    assert check(summary(COPIES)) == SAME
    assert check(summary()) == BETTER
    assert check(summary(COPIES, BOUND)) == WORSE


def test_a_file_without_findings_is_compared_without_them(tmp_path: Path) -> None:
    old = replace(summary(), snapshot=replace(summary().snapshot, findings=None))
    check_baseline(tmp_path, "f", old, "graphs", update=True)
    outcome = check_baseline(tmp_path, "f", summary(COPIES), "graphs", update=False)
    assert outcome.status == SAME
    assert [*outcome.lines()] == [
        "findings are not compared: f.torch2.13.json was written by an earlier tclab"
    ]
