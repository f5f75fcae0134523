"""What of a listing is seen first, what a search finds of it, and what is said only once."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from artifacts_by_hand import CHAIN, GRAPH, KERNEL, RUN, SASS, SNIPPET, TABLE, TTIR
from read_html import Page

from tclab import render
from tclab.errors import TclabError
from tclab.model import Table
from tclab.render import excerpt, opcodes, parts
from tclab.render.delivery import Delivery
from tclab.render.options import Options


def shown_and_folded(html):
    """(text outside of folds, summaries): what a reader sees first."""
    outside = re.sub(r"<details.*?</details>", "", html, flags=re.DOTALL)
    return Page(outside).text, re.findall(r"<summary>(.*?)</summary>", html)


@pytest.mark.parametrize(
    ("focus", "cuts"),
    [
        ([(10, 12)], [(1, 9, False), (10, 12, True), (13, 30, False)]),
        ([(3, 5)], [(1, 5, True), (6, 30, False)]),  # two lines before are not worth a fold
        ([(10, 12), (15, 16)], [(1, 9, False), (10, 16, True), (17, 30, False)]),
        ([(10, 12), (20, 28)], [(1, 9, False), (10, 12, True), (13, 19, False), (20, 30, True)]),
        ([(1, 30)], [(1, 30, True)]),
        ([], [(1, 30, False)]),
    ],
)
def test_where_a_listing_is_cut(focus, cuts):
    assert excerpt.split_range(1, 30, focus) == cuts


def test_a_source_shows_its_focus_and_folds_the_rest():
    source = "".join(f"line{n}\n" for n in range(1, 31))
    snippet = replace(SNIPPET, source=source)
    html = render.source(snippet, Options("s"), focus=[(10, 12)])
    seen, folds = shown_and_folded(html)
    assert seen == "line10\nline11\nline12\n" and folds == ["lines 1–9", "lines 13–30"]
    page = Page(html)
    assert page.ids == [f"s-L{n}" for n in range(1, 31)]  # each line under its own anchor
    assert "".join(re.findall(r"line\d+", page.text)) == source.replace("\n", "")


TRITON = "import triton\n\n\n@heuristics(\n    1,\n)\n@triton.jit\ndef k(p):\n    t = tl.load(p)\n"


def test_of_a_triton_kernel_the_function_is_shown():
    kernel = replace(KERNEL, code=TRITON)
    html = render.html(kernel, Options("k"))
    seen, folds = shown_and_folded(html)
    assert seen.endswith("def k(p):\n    t = tl.load(p)\n") and folds == [
        "2 more facts",
        "lines 1–7",
    ]
    assert Page(html).ids == [f"k-L{n}" for n in range(1, 10)]
    assert "<summary>" not in render.html(kernel, Options("k", fold=False))
    other = replace(kernel, kernel_name="not there")
    assert shown_and_folded(render.html(other, Options("k")))[1] == ["2 more facts"]


class Asked(Delivery):
    """Keeps the listings that may come later; instead of each stand its id and its title."""

    def __init__(self) -> None:
        self.bodies: list[str] = []

    def deliver_listing(self, body: str, title: str, ident: str) -> str:
        self.bodies.append(body)
        return f"{ident}: {title}"


def test_machine_code_is_folded_and_may_come_later():
    sass = replace(SASS, code="".join(f"/*{n:04x}*/ FADD R{n} ;\n" for n in range(40)))
    asked = Asked()
    html = render.html(sass, Options("x", delivery=asked))
    assert (
        html == '<details class="tclab-fold"><summary>40 lines of SASS</summary>x: SASS</details>'
    )
    assert [Page(body).ids for body in asked.bodies] == [[f"x-L{n}" for n in range(1, 41)]]
    render.html(sass, Options("x", fold=False, delivery=asked))
    render.html(SASS, Options("x", delivery=asked))  # short: shown at once
    assert len(asked.bodies) == 1


def test_long_code_that_is_folded_may_come_later():
    code = "".join(f"call_{n}()\n" for n in range(80))
    later = Options("x", delivery=Asked())
    long = render.html(replace(KERNEL, kernel_name="", code=code), later)
    assert "<summary>80 lines of Python</summary>x: " in long
    less = "".join(code.splitlines(keepends=True)[:45])
    short = render.html(replace(KERNEL, kernel_name="", code=less), later)
    assert "<summary>45 lines of Python</summary><div" in short


def test_a_table_s_figures():
    totals = Table("Kernels", "totals", ("", "kernels"), (("identical", 262), ("<b>", 0)))
    page = Page(render.html(totals, Options(view="figures")))
    assert page.text == "identical262<b>0" and len(page.named("dd")) == 2
    assert Page(render.html(totals)).text == "kernelsidentical262<b>0"
    with pytest.raises(TclabError, match="no view 'figures'"):
        render.html(GRAPH, Options(view="figures"))


def test_a_column_without_a_name_has_no_heading():
    page = Page(render.html(Table("t", "t", ("", "b"), (("x", 1),), units=("", "s"))))
    assert len(page.named("th")) == 1


def test_names_break_at_underscores():
    kernel = replace(KERNEL, kernel_name="triton_per_fused__softmax_0")
    html = render.html(kernel)
    assert "triton_<wbr>per_<wbr>fused__<wbr>softmax_<wbr>0</code>" in html
    assert parts.allow_underscore_breaks("__init__") == "__init__"


def test_one_stamp_for_a_run():
    shown = replace(RUN, artifacts=tuple(a for a in RUN.artifacts if a.kind != "report"))
    assert render.run(shown, Options("r")).count('class="tclab-stamp') == 1
    figure = render.figure(TABLE, RUN, titled=False, stamped=False)
    assert "tclab-stamp" not in figure and "figcaption" not in figure
    assert "tclab-stamp" in render.figure(TABLE, RUN)


def test_keywords_of_code():
    words = {(k.stage, k.word): k for k in render.keywords(CHAIN, Options("c"))}
    assert set(words) == {
        ("Bytecode", "LOAD_FAST"), ("Bytecode", "RETURN"), ("Triton kernel", "k"),
        ("SASS", "LDG.E"),
    }  # fmt: skip
    load = words["SASS", "LDG.E"]
    assert load.anchor == "c-sass-L1" and "LDG.E R4, [R2.64+0x10]" in load.line
    # A chain's machine code is one text: its viewer finds the line from the pane's id.
    assert load.anchor.rpartition("-L")[0] in Page(render.html(CHAIN, Options("c"))).ids
    (tt,) = render.keywords(TTIR, Options("t"))
    assert (tt.anchor, tt.word) == ("t-L2", "tt.load")
    assert render.keywords(TABLE) == []


@pytest.mark.parametrize(
    ("stage", "line", "word"),
    [
        ("sass", "        /*0360*/              @!P1 FSEL R11, R11, R8, P3 ;", "FSEL"),
        ("sass", "/*0110*/ @!P4 LDG.E.128 R4, desc[UR4][R14.64] ;", "LDG.E.128"),
        ("sass", '\t//## File "a.py", line 171', ""),
        ("sass", "        .align\t128", ""),
        ("ptx", "\t@%p1 ld.global.v4.b32 { %r1, %r2 }, [ %rd1 + 0 ];", "ld.global.v4.b32"),
        ("ptx", "\t.loc\t2 172 29", ""),
        ("ptx", "$L__tmp10:", ""),
        ("llir", "  %151 = fadd float %150, 0xC168000FE0000000, !dbg !33", "fadd"),
        ("llir", "  %6 = tail call float @llvm.nvvm.ex2.approx.ftz.f32(float %5)",
         "@llvm.nvvm.ex2.approx.ftz.f32"),
        ("llir", "  ret void, !dbg !40", "ret"),
        ("llir", "!llvm.module.flags = !{!0}", ""),
        ("ttir", '    %tmp12 = "tt.reduce"(%tmp11) <{axis = 1 : i32}> ({', "tt.reduce"),
        ("ttgir", "    %a, %b = arith.subf %c, %d : f32 loc(#loc54)", "arith.subf"),
        ("ttir", "#loc = loc(unknown)", ""),
        ("bytecode", "  5           2 LOAD_FAST                0 (x)", "LOAD_FAST"),
        ("bytecode", "        >>   14 LOAD_ATTR                1 (y)", "LOAD_ATTR"),
        ("asm", " 265:\tvmaxss xmm0,xmm2,xmm0", "vmaxss"),
        ("ir", "        load = ops.load('primals_1', get_index)", "ops.load"),
        ("python", "x = y + 1", ""),
    ],
)  # fmt: skip
def test_the_operation_of_a_line(stage, line, word):
    assert opcodes.find_opcode(line, stage) == word
