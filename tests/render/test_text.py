from __future__ import annotations

from dataclasses import replace

import pytest
from artifacts_by_hand import ARTIFACTS, BREAKS, GRAPH, NO_BREAKS, RUN, TABLE, nasty

from tclab import render
from tclab.model import Table
from tclab.render import columns

CODE = ("annotated", "chain", "diff", "listing", "kernel", "report", "text")


def widest(text):
    return max(columns.width(line) for line in text.split("\n"))


@pytest.mark.parametrize("text", ["a few words " * 30, "x" * 500, "漢字" * 100, "a\nb", "é́" * 60])
@pytest.mark.parametrize(
    "artifact", [a for a in ARTIFACTS if a.kind not in CODE], ids=lambda a: a.name
)
def test_nothing_but_code_is_wider_than_a_terminal(artifact, text):
    assert widest(render.text(nasty(artifact, text))) <= columns.WIDTH
    assert widest(render.text(artifact)) <= columns.WIDTH


def test_tables_are_aligned():
    assert render.text(TABLE).split("\n") == [
        "Times",
        "batch  mode      time [ms]   ok",
        "─────  ────────  ─────────  ───",
        "    1  eager          0.25  yes",
        " 4096  compiled       0.06   no",
        "    8  –                 –    –",
        "Median of 100 calls.",
    ]


def test_a_column_of_numbers_has_one_number_of_decimals():
    table = Table("", "", ("a", "b"), ((1.0, 1e-9), (2.25, 3.0), (float("nan"), float("inf"))))
    assert render.text(table).split("\n")[2:] == ["1.00  1e−09", "2.25      3", " nan      ∞"]


def test_a_table_of_many_columns_stays_within_reach():
    many = Table("", "", tuple(f"column {i}" for i in range(10)), (("word " * 5,) * 10,))
    assert widest(render.text(many)) <= columns.WIDTH


def test_empty_tables_say_so():
    assert "No rows." in render.text(replace(TABLE, rows=()))
    assert "No rows." in render.html(replace(TABLE, rows=()))


def test_breaks_read_from_top_to_bottom():
    text = render.text(BREAKS)
    parts = [
        "2 graph breaks, 2 graphs.",
        "1. Failed to trace",
        "[GB0059]",
        "relu.py:6",
        "- Do not print.",
        "2. torch.jit was called",
        "skipped",
    ]
    assert [text.index(p) for p in parts] == sorted(text.index(p) for p in parts)
    assert render.text(NO_BREAKS) == "No breaks: No graph breaks: one graph."


def test_a_graph_lists_its_nodes():
    lines = render.text(GRAPH).split("\n")
    assert lines[0] == "Forward graph: 6 nodes, 3 operations"
    assert lines[5].split() == ["mm", "call_function", "mm", "f32[8,", "s77]", "relu.py:5"]
    assert render.text(replace(GRAPH, nodes=())).endswith("return (add, mm)")


def test_a_run_prints_everything_and_its_stamp():
    text = render.run_text(RUN)
    assert text.startswith("printed\n")
    assert all(a.title in text for a in ARTIFACTS)
    assert text.split("\n")[-1] == render.stamp_text(RUN)
    assert render.stamp_text(RUN).startswith("PyTorch 2.13.0+cpu (cf30153) · Triton 3.7.1 · EPYC")


@pytest.mark.parametrize("text", ["", "a", "a b c", "x" * 30, "漢字漢字漢字", "a\n\nb", "  lead"])
def test_wrapping_keeps_the_words(text):
    lines = columns.wrap(text, 5)
    assert all(columns.width(line) <= 5 for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())
