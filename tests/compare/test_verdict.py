"""What is worse and what is better, of compiles that are written down here."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tclab.compare import words
from tclab.compare.verdict import judge
from tclab.model import BreakIdentity, FindingIdentity, GraphCounts, RecompileIdentity, Snapshot
from tests.compare.test_causes import bodies, kernel

ONE, OTHER = (kernel(text) for text in bodies("index"))
THIRD = replace(kernel(bodies("random_numbers")[0]), operators=("aten.rand",))
BREAKS = tuple(BreakIdentity("GB0059", "model.py", "f", line) for line in ("print(1)", "print(2)"))
WAS = Snapshot(torch="2.13.0", breaks=BREAKS[:1], kernels=(ONE, THIRD), guards=5,
               library_calls={"extern_kernels.mm": 1},
               graphs=(GraphCounts("forward", {"aten.add": 2}),))  # fmt: skip


def parts(after: Snapshot, level: str = "kernels") -> tuple[set[str], set[str]]:
    verdict = judge(WAS, after, level)
    return {e.part for e in verdict.worse}, {e.part for e in verdict.better}


def test_the_same_twice() -> None:
    assert judge(WAS, replace(WAS), "machine").same


def test_as_many_breaks_and_another_one_is_worse() -> None:
    assert parts(replace(WAS, breaks=BREAKS[1:])) == ({"graph breaks"}, {"graph breaks"})


def test_a_kernel_with_other_code_is_worse() -> None:
    assert parts(replace(WAS, kernels=(OTHER, THIRD))) == ({"kernels"}, set())


def test_a_kernel_that_is_gone_is_better() -> None:
    assert parts(replace(WAS, kernels=(ONE,))) == (set(), {"kernels"})


def test_a_break_that_is_gone_makes_other_kernels_no_worse() -> None:
    mended = replace(WAS, breaks=(), kernels=(replace(OTHER, operators=("aten.mul",)),))
    assert parts(mended) == (set(), {"graph breaks", "kernels"})


def test_unless_more_are_launched_or_another_break_came() -> None:
    four = (ONE, THIRD, OTHER, replace(OTHER, operators=("aten.mul",)))
    assert parts(replace(WAS, breaks=(), kernels=four))[0] == {"kernels"}
    other = replace(WAS, breaks=BREAKS[1:], kernels=(OTHER, THIRD))
    assert parts(other)[0] == {"graph breaks", "kernels"}


def test_one_graph_plans_more_memory_than_two_and_is_no_worse() -> None:
    planned = replace(WAS, planned_bytes=12_288)
    joined = replace(planned, breaks=(), planned_bytes=14_848)
    assert {e.part for e in judge(planned, joined, "kernels").better} == {"graph breaks", "memory"}
    more = replace(planned, planned_bytes=14_848)
    assert [e.part for e in judge(planned, more, "kernels").worse] == ["memory"]


def test_a_recompile_of_another_function_is_another() -> None:
    guards = ("tensor 'x' size mismatch at index 0. expected 8, actual 12",)
    was, moved = (
        replace(WAS, recompiles=(RecompileIdentity(name, "model.py", guards),)) for name in "fg"
    )
    (change,) = judge(was, moved, "dynamo").worse
    assert change.title == f"{guards[0]}, in g of model.py"


def test_more_guards_with_a_break_less_are_worse() -> None:
    assert parts(replace(WAS, breaks=(), guards=6)) == ({"guards"}, {"graph breaks"})


@pytest.mark.parametrize(
    ("level", "worse"),
    [("dynamo", set()), ("graphs", {"graphs"}), ("kernels", {"graphs", "library calls"})],
)
def test_a_level_compares_no_more_than_it_compiles(level: str, worse: set[str]) -> None:
    graphs, calls = (GraphCounts("forward", {"aten.add": 3}),), {"extern_kernels.mm": 2}
    assert parts(replace(WAS, graphs=graphs, library_calls=calls), level)[0] == worse


def test_registers_count_at_the_level_of_the_machine_alone() -> None:
    was, now = (replace(WAS, kernels=(replace(ONE, registers=n),)) for n in (16, 32))
    assert judge(was, now, "kernels").same
    (change,) = judge(was, now, "machine").worse
    assert (change.before, change.after) == (16, 32)


def test_a_kernel_that_spills_is_worse_also_where_a_break_is_gone() -> None:
    was, now = (replace(WAS, kernels=(replace(ONE, spilled=n),)) for n in (0, 64))
    assert [e.part for e in judge(was, replace(now, breaks=()), "machine").worse] == ["kernels"]


def of_graphs(dynamo: int, forward: int) -> tuple[GraphCounts, ...]:
    stages = ["dynamo"] * dynamo + ["forward"] * forward
    return tuple(GraphCounts(stage, {"aten.add": 1}) for stage in stages)


@pytest.mark.parametrize("level", ["dynamo", "graphs", "kernels"])
def test_no_graph_is_worse_at_each_level_whatever_else_is_gone(level: str) -> None:
    before = replace(WAS, graphs=of_graphs(3, 3))
    assert judge(before, Snapshot(torch="2.13.0"), level).worse
    assert judge(replace(before, breaks=()), Snapshot(torch="2.13.0"), level).worse


def test_fewer_graphs_are_better_only_where_a_break_is_gone() -> None:
    before = replace(WAS, graphs=of_graphs(2, 2))
    fewer = replace(before, graphs=of_graphs(1, 1))
    assert {e.part for e in judge(before, fewer, "graphs").worse} == {"graphs"}
    assert not judge(before, replace(fewer, breaks=()), "graphs").worse


def test_no_backward_graph_is_worse_also_where_a_break_is_gone() -> None:
    backward = GraphCounts("backward", {"aten.mul": 1})
    before = replace(WAS, graphs=(*of_graphs(1, 1), backward))
    after = replace(WAS, graphs=of_graphs(1, 1), breaks=())
    assert [e.title for e in judge(before, after, "graphs").worse] == ["backward graphs"]


def test_no_kernel_and_no_library_call_is_worse() -> None:
    worse, _ = parts(replace(WAS, kernels=(), library_calls={}))
    assert worse == {"kernels", "library calls"}


def test_results_that_were_eagers_and_differ_now_are_worse_at_every_level() -> None:
    equal = replace(WAS, agreement="equal", findings=())
    found = (FindingIdentity("results-differ", "y = x + 1 in m.py"),)
    differs = replace(WAS, agreement="differs", findings=found)
    assert [e.part for e in judge(equal, differs, "dynamo").worse] == ["findings"]
    assert [e.part for e in judge(differs, equal, "dynamo").better] == ["findings"]
    (line,) = words.list_changes(judge(equal, differs, "kernels").worse)
    assert line == "finding, new: results differ: y = x + 1 in m.py"
    assert judge(differs, replace(equal, agreement=""), "kernels").same


def test_results_that_were_not_compared_say_nothing() -> None:
    """So with files of an earlier tclab."""
    assert judge(WAS, replace(WAS, agreement="equal"), "machine").same
    assert judge(replace(WAS, agreement="differs"), WAS, "machine").same
