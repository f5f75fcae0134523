"""Kernels of thousands of lines: their instructions are left out, named, and had when asked for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tclab.capturing.machine_code import size_limit
from tclab.cli import command
from tclab.explain import ExplainRequest, explain_named, options
from tclab.render.report import document, words

LONG = "def f(x):\n    return (x + 1).relu() * 2\n"


@pytest.fixture
def long_kernel(write, monkeypatch):
    """Every kernel is longer than the limit."""
    monkeypatch.setattr(options, "MOST_LINES", 2)
    write("m.py", LONG)


def stages(report):
    return {pane.stage for chain in report.chains for pane in chain.panes}


def test_of_a_long_triton_kernel_the_stages_above_the_instructions_are_shown(long_kernel):
    pytest.importorskip("triton")
    report = explain_named(ExplainRequest.parse("m.py:f", target="h200", inputs=["f32[64,64]"]))
    assert {"python", "dynamo", "forward", "ir", "kernel"} <= stages(report)
    assert not stages(report) & {"ttir", "ttgir", "llir", "ptx", "sass"}
    assert not report.candidates and not report.complete
    (gap,) = report.left_out
    assert gap.place.startswith("kernel triton_") and "more than 2" in gap.cause
    assert "--long-kernels" in gap.next_step
    ((line, _),) = words.gaps(report)
    assert line.startswith(f"{gap.place}: {gap.cause}.")
    html = document.html(report)
    assert gap.place in html and 'class="explain-alert"' not in html  # findings come first
    (several,) = words.gaps(replace(report, left_out=(gap, gap, gap)))
    assert several[0].endswith(" 2 more kernels too, in the report.")


def test_of_a_long_cpp_kernel_too(long_kernel):
    report = explain_named(ExplainRequest.parse("m.py:f", inputs=["f32[64,64]"]))
    assert "cpp" in stages(report) and "asm" not in stages(report)
    assert len(report.left_out) == 1


TWO = """def f(x):
    return (x.sin().sum(0) @ x).relu()
"""


def test_cpp_kernels_after_the_first_ones_are_named(write, monkeypatch):
    monkeypatch.setattr(size_limit, "MOST_CPP_KERNELS", 1)
    write("m.py", TWO)
    report = explain_named(ExplainRequest.parse("m.py:f", inputs=["f32[64,64]"]))
    stage = [pane.stage for chain in report.chains for pane in chain.panes]
    assert (stage.count("cpp"), stage.count("asm")) == (2, 1) and not report.complete
    (gap,) = report.left_out
    assert gap.place.startswith("kernel cpp_") and "more than 1 C++ kernels" in gap.cause
    every = explain_named(ExplainRequest.parse("m.py:f", inputs=["f32[64,64]"], long_kernels=True))
    stage = [pane.stage for chain in every.chains for pane in chain.panes]
    assert (stage.count("cpp"), stage.count("asm")) == (2, 2) and every.complete


def test_they_are_taken_down_when_asked_for(long_kernel):
    pytest.importorskip("triton")
    report = explain_named(
        ExplainRequest.parse("m.py:f", target="h200", inputs=["f32[64,64]"], long_kernels=True)
    )
    assert "sass" in stages(report) and report.complete


def test_the_command_says_so_and_ends_with_three(long_kernel, capsys):
    pytest.importorskip("triton")
    line = ["explain", "m.py:f", "--target", "h200", "-i", "f32[64,64]", "-o", "r.html"]
    assert command.main(line) == 3
    printed = capsys.readouterr().out
    assert "its instructions are left out" in printed and "add --long-kernels" in printed
