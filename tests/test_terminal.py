"""What the commands write while they work: a line for each result, or a live bar."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from tclab.cli import terminal
from tclab.errors import RunFailed
from tclab.model import Failure, Provenance, Run
from tclab.site import run_views
from tclab.site.engine import events
from tclab.text.scrub import scrub

MADE = Provenance("2.13.0", "", "3.11", "", "", "2026-01-01")
GOOD = Run("t/good", "here", "", MADE, 1.25, 2**20)
BAD = Run("t/bad", "here", "", MADE, 2.0, 2**20, failure=Failure("timeout", "too [b]slow[/b]"))

TOLD = [
    (events.Planned(total=3, jobs=2), ""),
    (events.Warming(), ""),
    (events.WarmedUp(seconds=2.0), ""),
    (events.WarmedUp(note="cold [for] a reason"), "cold [for] a reason"),
    (events.Started("t/good"), ""),
    (events.Finished("t/good", run=GOOD), "t/good ok 0 artifacts 1.2 s"),
    (events.Finished("t/bad", run=BAD), "t/bad failed timeout 2.0 s"),
    (events.Skipped("t/gpu", missing=frozenset({"cuda"})), "t/gpu needs cuda"),
    (events.Waiting("t/x"), "t/x waits: another build is running it"),
    (events.Reused("t/x"), "t/x ok taken from another build"),
    (events.SaveFailed("t/y", message="full"), "t/y failed full"),
]


@pytest.mark.parametrize(("event", "line"), TOLD, ids=lambda x: type(x).__name__)
def test_a_pipe_gets_a_line_for_each_result(capsys, event, line) -> None:
    with run_views.progress(3) as on_event:
        on_event(event)
    assert capsys.readouterr().err == (f"{line}\n" if line else "")


@pytest.fixture
def screen(monkeypatch) -> io.StringIO:
    """What a terminal of 80 columns was sent."""
    out = io.StringIO()
    shown = Console(file=out, force_terminal=True, width=80, color_system=None)
    for module in (terminal, run_views):
        monkeypatch.setattr(module, "console", lambda *, stderr=False: shown)
    monkeypatch.setenv("TERM", "xterm")
    return out


def test_a_terminal_gets_a_bar_that_moves(screen) -> None:
    with run_views.progress(5, "recording") as on_event:
        bar = on_event.bar  # type: ignore[attr-defined]
        on_event(events.Planned(total=2))
        on_event(events.Warming())
        assert bar.tasks[0].description == "warming up"
        on_event(events.WarmedUp())
        on_event(events.Started("t/good"))
        on_event(events.Started("t/bad"))
        assert bar.tasks[0].description == "t/good, t/bad"
        on_event(events.Finished("t/good", run=GOOD))
        assert (bar.tasks[0].completed, bar.tasks[0].total) == (1, 2)
        assert bar.tasks[0].description == "t/bad"
        on_event(events.Finished("t/bad", run=BAD))
        assert bar.tasks[0].description == "recording"
    assert "t/good ok 0 artifacts 1.2 s" in screen.getvalue()


def test_an_error_is_text_and_marks_its_first_line(capsys) -> None:
    terminal.print_error(RunFailed("a.py:1", "no [bold]x[/bold]", "mend it"))
    assert capsys.readouterr().err == "error: a.py:1: no [bold]x[/bold]\n  next: mend it\n"


def test_results_are_a_table_without_frames(capsys) -> None:
    terminal.console().print(run_views.result_table({"t/good": GOOD, "t/bad": BAD}))
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines == [
        ["snippet", "seconds", "MiB", "result"],
        ["t/good", "1.25", "1", "ok", "0", "artifacts"],
        ["t/bad", "2.00", "1", "failed", "timeout"],
    ]


def test_in_a_pipe_nothing_of_a_table_is_cut(capsys, lab, monkeypatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    snippet = replace(lab.write("t/one", "pass"), title="word " * 100)
    statuses = {snippet: [lab.plan().local_status(snippet)]}
    terminal.console().print(run_views.snippet_table(["here"], statuses))
    assert "word " * 99 in capsys.readouterr().out


@pytest.mark.parametrize("text", ["x[a:b:c]", "wrote d:bug:/o.html", "f.py:train: it fails", "a:b"])
def test_no_text_is_taken_for_an_emoji(capsys, text) -> None:
    terminal.print_error(text)
    terminal.print_note(text)
    assert capsys.readouterr().err == f"error: {text}\n{text}\n"


def test_a_file_below_the_temporary_folder_has_a_path_that_opens(capsys, tmp_path) -> None:
    file = tmp_path / "model.py"
    file.touch()
    terminal.print_error(f"{scrub(str(file))}:3 (f(x)): it fails; <tmp>/no_such.py:4")
    assert capsys.readouterr().err == f"error: {file}:3 (f(x)): it fails; <tmp>/no_such.py:4\n"
    terminal.console().print(f'[bold]skipped[/] File "{scrub(str(file))}", line 6', soft_wrap=True)
    assert capsys.readouterr().out == f'skipped File "{file}", line 6\n'


@pytest.mark.parametrize("columns", ["0", "00", "", "1", "abc", "100000"])
def test_no_width_silences_a_message(capsys, monkeypatch, columns) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    terminal.print_error("a message")
    terminal.console(stderr=True).print(terminal.plain_table("a column"))
    assert "error: a message" in capsys.readouterr().err.replace("\n", " ")
