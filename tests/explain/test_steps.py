"""What goes on while a function is explained."""

from __future__ import annotations

import io
import shutil
import sys

import pytest
from rich.console import Console

from tclab.cli import terminal
from tclab.cli.explaining import steps as display
from tclab.explain import ExplainRequest, Step, explain_named


def test_every_step_is_told_as_it_begins(write):
    write("m.py", "def f(x):\n    y = x + 1\n    print(end='')\n    return y * 2\n")
    steps: list[Step] = []
    explain_named(ExplainRequest.parse("m.py:f", inputs=["f32[8]"]), on_step=steps.append)
    heard = list(map(str, steps))
    order = ["importing PyTorch", "importing m.py", "importing PyTorch's compiler", "compiling f",
             "compiling f: Dynamo", "compiling f: Inductor", "compiling f, compile 2: Dynamo",
             "taking the kernels down to instructions"]  # fmt: skip
    assert [step for step in heard if step in order] == order
    assert "compiling f: the kernels" in heard


def live(monkeypatch, **options) -> str:
    """What a console shows of two steps."""
    stream = io.StringIO()
    made = Console(file=stream, width=80, **options)
    monkeypatch.setattr(terminal, "console", lambda **_: made)
    with display.display_steps() as on_step:
        on_step(Step("importing PyTorch"))
        on_step(Step("compiling f", phase="Dynamo"))
        on_step(Step("compiling f", phase="Inductor"))
    return stream.getvalue()


def test_a_terminal_shows_what_goes_on_and_since_when(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    text = live(monkeypatch, force_terminal=True, color_system=None)
    assert "✓ importing PyTorch " in text and "compiling f: Inductor 0 s" in text


def test_a_dumb_terminal_gets_a_line_a_step(monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    text = live(monkeypatch, force_terminal=True)
    assert text.splitlines() == [
        "importing PyTorch",
        "compiling f: Dynamo",
        "compiling f: Inductor",
    ]


def test_a_pipe_gets_nothing(monkeypatch):
    assert live(monkeypatch, force_terminal=False) == ""


def test_streams_are_as_before(monkeypatch):
    before = sys.stdout, sys.stderr
    live(monkeypatch, force_terminal=True)
    assert (sys.stdout, sys.stderr) == before


def test_a_kernel_is_compiled_for_its_instructions_once_beside_pytorchs_own(write, monkeypatch):
    from tclab.capturing.machine_code import cpp

    if not shutil.which("objdump"):
        pytest.skip("no objdump, so no instructions")
    compiled: list[str] = []
    listing = cpp._disassemble
    monkeypatch.setattr(cpp, "_disassemble", lambda t, c: compiled.append(t) or listing(t, c))
    write("m.py", "def f(x):\n    return (x * 41).sin()\n")
    before: list[int] = []
    report = explain_named(
        ExplainRequest.parse("m.py:f", inputs=["f32[8]"]),
        on_step=lambda step: before.append(len(compiled)) if "instructions" in step.work else None,
    )
    assert {"cpp", "asm"} <= {pane.stage for chain in report.chains for pane in chain.panes}
    assert before == [1] and len(compiled) == 1
