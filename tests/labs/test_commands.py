"""``tclab lab``: list, start, check, and the capstone."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import pytest

from tclab.cli.command import main
from tclab.errors import LabError
from tclab.model import Break, Breaks, Recompile, Recompiles, Report, SourceLine
from tclab.site.engine.plan import Plan
from tclab.site.labs import source
from tclab.site.labs.capstone import check as capstone
from tclab.site.labs.capstone import findings
from tclab.site.labs.progress import FILE, Progress
from tclab.system.project import project_root

ROOT = Path(__file__).resolve().parents[2]
LABS = source.find(ROOT)


def said(capsys, *words: str) -> tuple[int, str]:
    """Return the exit status of a command, and all that it printed."""
    status = main(["--root", str(ROOT), "lab", *words])
    captured = capsys.readouterr()
    return status, captured.out + captured.err


@pytest.mark.parametrize("columns", ["80", "200"])
def test_list_names_every_lab(capsys, tmp_path, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    status, text = said(capsys, "list", str(tmp_path))
    assert status == 0
    assert all(lab.title in text for lab in LABS if columns == "200")
    assert "close_enough" in text and "first_and_later" in text
    assert "passed" not in text


def test_start_writes_both_files_and_overwrites_nothing(capsys, tmp_path):
    status, text = said(capsys, "start", "3", str(tmp_path / "mine"))
    assert status == 0
    files = sorted(path.name for path in (tmp_path / "mine").iterdir())
    assert files == ["lab3_breaks.ipynb", "lab3_breaks.py"]
    edited = tmp_path / "mine" / "lab3_breaks.py"
    edited.write_text("mine")
    (tmp_path / "mine" / "lab3_breaks.ipynb").unlink()
    status, text = said(capsys, "start", "3", str(tmp_path / "mine"))
    assert status == 1
    assert "lab3_breaks.py is there already" in text
    assert edited.read_text() == "mine"
    assert not edited.with_suffix(".ipynb").exists()


@pytest.mark.parametrize("package", ["jupytext", "nbformat"])
def test_a_package_that_notebooks_need_is_named(capsys, tmp_path, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    status, text = said(capsys, "start", "1", str(tmp_path))
    assert status == 1
    assert f"{package} is not installed" in text
    assert "next: pip install 'torch-compile-lab[labs]'" in text
    assert list(tmp_path.iterdir()) == []


def test_the_exercise_has_no_solution_in_it(tmp_path, capsys):
    for lab in LABS:
        said(capsys, "start", str(lab.number), str(tmp_path))
        text = (tmp_path / f"{lab.name}.py").read_text()
        assert "SOLUTION" not in text
        assert "# claim:" not in text
        assert "](claim:" not in text
        count = lab.snippet.source.count("### BEGIN SOLUTION")
        assert text.count("raise NotImplementedError") == count


@pytest.mark.parametrize("words", [("start", "9"), ("check", "9", "x.py"), ("check", "x", "x.py")])
def test_a_lab_that_is_not_there(capsys, words):
    status, text = said(capsys, *words)
    assert status in (1, 2)
    assert "next:" in text


def test_an_exercise_that_is_not_there(capsys, tmp_path):
    status, text = said(capsys, "check", "1", str(tmp_path / "x.py"), "slowest")
    assert status == 1
    assert "it has: close_enough" in text


def test_check_says_what_does_not_hold_hints_by_degrees_and_keeps_what_passed(capsys, tmp_path):
    said(capsys, "start", "1", str(tmp_path))
    path = tmp_path / "lab1_backends.py"
    handed_out = path.read_text()
    path.write_text(handed_out + '\n# %%\ndef slowest_phase(times):\n    return "Total"\n')
    before = path.read_bytes()
    words = ("check", "1", str(path), "slowest_phase", "--hint")
    (status, first), (_, second) = said(capsys, *words), said(capsys, *words)
    assert status == 1
    assert "✗ does not answer with the total: it answered Total" in first
    assert "hint 1 of 2: Which row of the table is the sum of the others?" in first
    assert "hint 2 of 2: Leave out the row whose phase is Total." in second
    assert "A hint: --hint" not in first + second
    assert "A hint: --hint" in said(capsys, *words[:-1])[1]
    assert path.read_bytes() == before

    answer = "def slowest_phase(times):\n    return max(times.rows[:-1], key=lambda r: r[2])[0]\n"
    path.write_text(f"{handed_out}\n# %%\n{answer}")
    status, text = said(capsys, *words[:-1])
    assert (status, "all of 1 exercise passed" in text) == (0, True)
    assert json.loads((tmp_path / FILE).read_text())["passed"] == {
        "lab1_backends": ["slowest_phase"]
    }
    assert "passed" in said(capsys, "list", str(tmp_path))[1]


def test_a_progress_file_that_cannot_be_read_is_kept_aside(tmp_path):
    (tmp_path / FILE).write_text("{not json")
    assert Progress.read(tmp_path).passed == {}
    assert [path.name for path in tmp_path.iterdir()] == ["lab-progress.unreadable"]


# --------------------------------------------------------------------------- the capstone

MODEL = """
import torch
from torch import nn

EXPLAINED = {"print(": "a reader may want to see it"}

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(16, 16)
    def forward(self, x):
        y = self.inner(x)
        print("seen")
        return torch.softmax(y, -1)

def example_inputs():
    return [(torch.randn(8, 16),)]
"""


def test_the_capstone_judges_a_model_and_writes_one_page(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "my_model.py"
    path.write_text(MODEL)
    status, text = said(capsys, "check", "capstone", "my_model.py")
    assert status == 0, text
    assert "the findings are in my_model-findings.html" in text
    page = (tmp_path / "my_model-findings.html").read_text()
    assert "a reader may want to see it" in page
    assert "my_model.py:12" in page
    assert str(tmp_path) not in page
    assert page.startswith("<!doctype html>")
    assert "Does it pay?" in page
    assert "float64" not in page.split("<h2", 1)[0]
    assert 'class="tclab-chain"' in page
    assert path.read_text() == MODEL


def test_a_model_that_is_not_there_has_its_message(tmp_path):
    plan = Plan(project_root())
    with pytest.raises(LabError, match="no such file"):
        capstone.judge(str(tmp_path / "none.py"), plan)
    (tmp_path / "broken.py").write_text("def x(:")
    with pytest.raises(LabError, match="SyntaxError"):
        capstone.judge(str(tmp_path / "broken.py"), plan)


def broken(code: str) -> Report:
    place = SourceLine("m.py", 3, code)
    return Report(breaks=Breaks(breaks=(Break("a reason", location=place),)))


def test_a_break_is_mended_or_explained():
    assert findings.judge_breaks(Report(), {}).settled
    assert not findings.judge_breaks(broken("y.item()"), {}).settled
    assert not findings.judge_breaks(broken("y.item()"), {"print": "no"}).settled
    assert findings.judge_breaks(broken("y.item()"), {"item": "one number a batch"}).settled


def test_a_model_of_another_name_is_asked_for_before_anything_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("m.py").write_text("class Tagger:\n    pass\n")
    monkeypatch.delattr(capstone.schedule, "run")
    with pytest.raises(LabError, match="none of model, Model") as caught:
        capstone.judge("m.py", Plan(project_root()))
    assert caught.value.next_step.endswith("tclab lab check capstone m.py:NAME")


def test_recompiles_are_bounded_where_the_second_pass_compiles_nothing():
    growing = Recompile("0/1", "forward", ("tensor 'x' size mismatch",))
    counter = Recompile("0/3", "forward", ("self.steps == 3",))
    report = Report(recompiles=Recompiles(recompiles=(growing,)))
    assert findings.judge_recompiles(report, [], []).settled
    again = findings.judge_recompiles(report, ["a graph", "another"], [counter])
    assert not again.settled
    assert "compiled 2 graphs again: self.steps == 3" in again.answer


def test_results_are_judged_by_what_is_allowed():
    assert findings.judge_results(1e-6, 1e-6, 4e-6).settled
    assert not findings.judge_results(1e-2, 1e-6, 4e-6).settled


@pytest.mark.parametrize(
    ("compiled", "word"), [(0.5, "Yes"), (2.0, "No:"), (0.99, "No difference")]
)
def test_a_speed_up_or_an_honest_no(compiled, word):
    def around(value: float) -> tuple[float, float, float]:
        return 0.98 * value, value, 1.02 * value

    timing = findings.Timing(around(1.0), around(compiled), 3.0, "1 example call")
    finding = findings.judge_speed(timing)
    assert finding.settled
    assert finding.answer.startswith(word)
    assert timing.break_even == (6 if compiled == 0.5 else 300 if compiled < 1 else math.inf)
