"""The same code twice: what is compared, what is marked, in HTML and in text."""

from __future__ import annotations

from dataclasses import replace

import pytest
from read_html import Page

from tclab import render
from tclab.model import Diff, Kernel, KernelFacts, Listing, Resources
from tclab.render.options import Options
from tclab.render.viewer.compared import LinePair, Side, pair_lines

LEFT = """kernel:
/*0000*/                   LDC R1, c[0x0][0x28] ;
/*0010*/                   S2R R64, SR_TID.X ;
/*0020*/              @!P4 LDG.E.128 R4, desc[UR4][R14.64] ;
/*0030*/                   FADD R4, R4.reuse, 1 ;
/*0040*/                   EXIT ;
"""
RIGHT = """kernel:
/*0000*/                   MOV R1, c[0x0][0x28] ;
/*0010*/                   S2R R3, SR_TID.X ;
/*0020*/              @!P0 LDG.E.128 R8, desc[UR6][R2.64] ;
/*0030*/                   NOP;
/*0040*/                   FADD R8, R8, 1 ;
/*0050*/                   FADD R9, R8, 2 ;
/*0060*/                   EXIT ;
"""


def sass(code: str) -> Listing:
    return Listing("SASS", "sass", code, "text", "sass")


def compared(left: str, right: str, stage: str = "sass") -> list[LinePair]:
    return list(pair_lines(*(Side(Listing("l", "l", c, "text", stage)) for c in (left, right))))


def pairs(found: list[LinePair]) -> list[tuple[str, str, bool]]:
    return [(r.left.text if r.left else "", r.right.text if r.right else "", r.same) for r in found]


def test_registers_addresses_and_padding_are_not_compared():
    same = [row.same for row in compared(LEFT, RIGHT)]
    assert same == [True, False, True, True, True, False, True]


def test_a_line_that_changed_stands_beside_what_it_was_and_its_words_are_marked():
    row = compared(LEFT, RIGHT)[1]
    assert [text for text, changed in row.left.pieces if changed] == ["LDC"]
    assert [text for text, changed in row.right.pieces if changed] == ["MOV"]
    assert (row.left.number, row.right.number) == (2, 2)


def test_a_line_that_came_stands_alone_under_its_own_number():
    row = compared(LEFT, RIGHT)[5]
    assert row.left is None and row.right.number == 7 and "FADD R9" in row.right.text


@pytest.mark.parametrize("stage", ["python", "kernel", "cpp"])
def test_of_written_code_everything_is_compared(stage):
    (row,) = compared("x = R1 + 1\n", "x = R2 + 1\n", stage)
    assert not row.same and row.left.pieces == (("x = ", False), ("R1", True), (" + 1", False))


def test_lines_gone_and_nothing_at_all():
    assert pairs(compared("a\nb\n", "a\n", "kernel")) == [("a", "a", True), ("b", "", False)]
    assert pairs(compared("", "a\n", "kernel"))[-1] == ("", "a", False)
    assert list(pair_lines(Side(None), Side(None))) == []


def test_both_sides_come_back_whole():
    lines = {True: [], False: []}
    for row in compared(LEFT, RIGHT):
        for side, line in ((True, row.left), (False, row.right)):
            if line:
                lines[side].append(line.text)
    assert lines[True] == LEFT.splitlines()
    assert lines[False] == [line for line in RIGHT.splitlines() if "NOP" not in line]


def test_many_lines_take_no_minutes():
    left = "".join(f"add x{n % 7}, {n}\n" for n in range(5000))
    right = left.replace("add x3", "sub x3")
    assert sum(not row.same for row in compared(left, right, "kernel")) == 5000 // 7


# ------------------------------------------------------------------------------- artifacts


def taking(registers: int) -> KernelFacts:
    return KernelFacts(resources=Resources(registers, 0), calls=1)


KERNEL = Kernel("k", "k", "x = 1\ny = 2\n", "python", "kernel", facts=taking(16))
DIFF = Diff(
    "One kernel on two GPUs", "diff", ("H200", "A100"),
    (Listing("f", "f", "y = x\n", "python", "python"), KERNEL, sass(LEFT), sass(LEFT)),
    (Listing("f", "f", "y = x\n", "python", "python"),
     replace(KERNEL, code="x = 1\ny = 3\n", facts=taking(20)), sass(RIGHT)),
)  # fmt: skip


def test_what_is_the_same_is_said_and_what_differs_is_shown():
    page = Page(render.html(DIFF, Options("d")))
    assert "The same in both: Python." in page.text
    panes = [a for a in page.named("details") if a["class"] == "tclab-compared"]
    assert [a["data-stage"] for a in panes] == ["kernel", "sass", "sass"]
    assert ["open" in a for a in panes] == [True, False, False]
    assert "SASS 2" in page.text and "6 and 0 lines, 6 changed" in page.text
    assert "H200" in page.text and "A100" in page.text


def test_the_only_pane_stands_open_and_nothing_is_said_of_what_is_not_left_out():
    graphs = [Listing("g", "g", code, "python", "forward") for code in ("a = 1\n", "b = 2\n")]
    page = Page(render.html(Diff("D", "d", left=(graphs[0],), right=(graphs[1],)), Options("d")))
    assert "open" in next(a for a in page.named("details") if a["class"] == "tclab-compared")
    assert "not compared" not in page.text and "The same in both" not in page.text


def test_facts_that_differ_stand_with_the_kernel():
    page = Page(render.html(DIFF, Options("d")))
    assert "registers" in page.text and "1620" in page.text.replace("\n", "")
    assert page.text.count("registers") == 2  # in the note on what is not compared, and once here


def test_removed_and_added_lines_say_so_to_every_reader():
    page = Page(render.html(DIFF, Options("d")))
    assert len(page.named("del")) == 1 + 1 + 6 and len(page.named("ins")) == 1 + 2


def test_long_runs_of_the_same_are_folded_between_changes():
    code = "".join(f"line {n}\n" for n in range(60))
    other = code.replace("line 5\n", "other\n").replace("line 50\n", "other\n")
    html = render.html(Diff("", "d", ("a", "b"), (Listing("l", "l", code, "text", "kernel"),),
                            (Listing("l", "l", other, "text", "kernel"),)))  # fmt: skip
    page = Page(html)
    folds = [a for a in page.named("details") if a["class"] == "tclab-same"]
    assert len(folds) == 2  # between the changes, and after the second; before the first are 5
    assert "38 lines, the same" in page.text and "6 lines, the same" in page.text
    assert all(f"line {n}" in page.text for n in range(60))


HEADED = """@triton_heuristics.pointwise(
    triton_meta={'device': 132},
)
@triton.jit
def k(in_ptr0):
    xmask = 1
"""


def test_what_only_says_how_a_kernel_is_launched_is_folded_and_the_instructions_are_open():
    kernels = [replace(KERNEL, code=HEADED.replace("132", n)) for n in ("132", "108")]
    diff = replace(DIFF, left=(kernels[0], *DIFF.left[2:]), right=(kernels[1], *DIFF.right[2:]))
    html = render.html(diff, Options("d"))
    panes = [a for a in Page(html).named("details") if a["class"] == "tclab-compared"]
    assert [("open" in a, a["data-stage"]) for a in panes] == [
        (False, "kernel"), (True, "sass"), (False, "sass"),
    ]  # fmt: skip
    assert "<summary>1 line of metadata, changed</summary>" in html and "108" in html


def test_a_line_of_index_arithmetic_that_changed_is_a_real_difference():
    one, two = (replace(KERNEL, code=HEADED.replace("= 1", f"= {n}")) for n in (1, 2))
    page = Page(render.html(replace(DIFF, left=(one, sass(LEFT)), right=(two, sass(RIGHT)))))
    panes = [a for a in page.named("details") if a["class"] == "tclab-compared"]
    assert ["open" in a for a in panes] == [True, False]


def test_nothing_to_compare():
    assert "Nothing to compare." in render.html(Diff("", "d"))
    assert "The same in both: nothing." in render.text(Diff("", "d"))


def test_as_text_it_is_a_unified_diff():
    kernel, first, _ = render.text(DIFF).split("--- ")[1:]
    assert kernel.startswith("Triton kernel, H200\n+++ Triton kernel, A100\n@@ -1,2 +1,2 @@\n")
    assert "\n x = 1\n-y = 2\n+y = 3\n  registers per thread: 16 | 20" in kernel
    assert "-/*0000*/                   LDC R1" in first
    assert "+/*0000*/                   MOV R1" in first
    assert "\n /*0010*/                   S2R R64, SR_TID.X ;\n" in first  # the left's registers
