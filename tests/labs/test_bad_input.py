"""What is no answer gets a message of its own, and nobody's file is changed."""

from __future__ import annotations

import ast
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from tclab import __version__
from tclab.errors import LabError
from tclab.model import Break, SourceLine
from tclab.site.engine.plan import Plan
from tclab.site.labs import check as checking
from tclab.site.labs import handout, judge, source
from tclab.site.labs.exercise import Exercise, RandomInputs, Step
from tclab.site.labs.exercises import compiled
from tclab.site.labs.verdict import StepResult, Verdict
from tclab.system.project import project_root
from tests.labs import answers_read

ROOT = Path(__file__).resolve().parents[2]
LAB = source.get(ROOT, 1)
ONE = ("slowest_phase",)
RIGHT = "def slowest_phase(times):\n    return max(times.rows[:-1], key=lambda row: row[2])[0]\n"
SHOWN = "import tclab\ntclab.show(tclab.Text(name='verdict', text='a verdict of mine'))\n"

#: What is written below the exercise, and what the check says of it.
FILES = {
    "unedited": "",
    "loop": "while True:\n    pass\n",
    "loop inside": "def slowest_phase(times):\n    while True:\n        pass\n",
    "exit": "import sys\nsys.exit(3)\n",
    "killed": "import os\nos._exit(7)\n",
    "missing package": "import not_there_at_all\n",
    "error": "x = 1 / 0\n",
    "error inside": "def slowest_phase(times):\n    return times.nothing\n",
    "shown": SHOWN,
    "right": RIGHT,
    "in a try cell": f'# %% tags=["try"]\n{RIGHT}',
}


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """Each file's check, all from one warm process; the last is a notebook on disk."""
    text = handout.script(LAB)
    answers = [
        checking.answer_from_text(
            LAB, f"{text}\n# %%\n{code}", only=ONE, seconds=5 if "loop" in name else 60
        )
        for name, code in FILES.items()
    ]
    path = tmp_path_factory.mktemp("reader") / "mine.ipynb"
    path.write_text(handout.notebook(f"{text}\n# %%\n{RIGHT}"), encoding="utf-8")
    before = path.read_bytes()
    answers.append(checking.read(path, LAB, only=ONE))
    checked = checking.check(answers, Plan(project_root()), warm=True)
    assert path.read_bytes() == before
    return dict(zip([*FILES, "notebook"], checked))


def test_a_line_of_a_notebook_is_told_by_its_cell():
    text = "# %%\nx = 1\n\n# %% [markdown]\n# words\n\n# %%\ny = 2\nz = 3\n"
    answer = replace(checking.answer_from_text(LAB, text), is_notebook=True, place="mine.ipynb")
    step = StepResult("break", "is one graph", holds=False, why="a break", line=9)
    (located,) = checking._add_places(Verdict("f", "F", "failed", (step,)), answer).steps
    assert located.why == "a break (mine.ipynb, code cell 2, line 2)"


def test_each_check_has_inputs_of_its_own_and_each_step_those_of_the_check():
    """So a step's inputs do not depend on what the steps before it drew."""
    drawn = []
    step = Step(
        "draws",
        "draws",
        (),
        lambda answer, random_inputs: drawn.append(random_inputs.integer(0, 2**30)),
    )
    exercise = Exercise("f", "F", steps=[step, step])
    tree = ast.parse("def f(): pass")
    for seed in (1, 2, 1):
        order = judge.JudgeRequest("lab", [], seed)
        assert judge.judge(exercise, tree, {"f": print}, order, {"file": "x.py"}).passed
    one, two, again = drawn[:2], drawn[2:4], drawn[4:]
    assert one == again and len({*one}) == len({*two}) == 1 and one != two


def test_a_check_without_a_seed_draws_one():
    answer = checking.answer_from_text(LAB, "x = 1\n")
    orders = {checking._make_snippet(1, answer, None).source for _ in range(3)}
    assert len(orders) == 3


def test_a_break_has_its_line(monkeypatch):
    place = SourceLine("mine.py", 3, "print(x)")
    capture = SimpleNamespace(breaks=[Break("a print", location=place)], graphs=[None, None])
    monkeypatch.setattr(compiled, "capture_calls", lambda answer, calls: capture)
    step = Step(
        "break", "is one graph", (), lambda answer, random_inputs: compiled.assert_whole(answer, [])
    )
    mine, other = (
        judge._judge_step(step, None, RandomInputs(0), file) for file in ("mine.py", "other.py")
    )
    assert (mine.why, mine.line) == ("1 graph break(s): a print", 3)
    assert (other.why, other.line) == ("1 graph break(s): a print (mine.py:3)", 0)


@pytest.mark.parametrize("name", ["right", "notebook"])
def test_a_right_answer_passes(judged, name):
    assert judged[name].passed, judged[name]


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("loop", "endless loop"),
        ("loop inside", "endless loop"),
        ("exit", "it ended its own process: sys.exit(3)"),
        ("killed", "it ended its own process"),
        ("missing package", "No module named 'not_there_at_all'"),
        ("error", "ZeroDivisionError"),
    ],
)
def test_a_file_that_does_not_come_to_its_end(judged, name, part):
    failure = judged[name].failure
    assert part in failure.cause
    assert failure.next_step
    assert [v.state for v in judged[name].verdicts] == ["unreached"]


def test_the_line_is_the_readers(judged):
    lines = handout.script(LAB).count("\n") + 2
    assert judged["error"].failure.place == f"lab1_backends.py:{lines + 1}"
    inside = {f"lab1_backends.py:{lines + number}" for number in (2, 3)}
    assert judged["loop inside"].failure.place in inside


def test_a_missing_package_says_how_to_install_it(judged):
    assert judged["missing package"].failure.next_step == "pip install not_there_at_all"


def test_an_error_in_an_answer_has_its_line(judged):
    (verdict,) = judged["error inside"].verdicts
    line = handout.script(LAB).count("\n") + 4
    assert verdict.state == "failed"
    assert {step.why for step in verdict.steps} == {
        f"AttributeError: 'Table' object has no attribute 'nothing' (lab1_backends.py:{line})"
    }


@pytest.mark.parametrize("name", ["unedited", "shown"])
def test_an_exercise_that_was_not_begun(judged, name):
    (verdict,) = judged[name].verdicts
    assert verdict.state == "untouched"


def test_an_answer_in_a_cell_that_only_tries_is_pointed_at(judged):
    (verdict,) = judged["in a try cell"].verdicts
    line = handout.script(LAB).count("\n") + 4
    assert verdict.state == "absent"
    assert verdict.why.startswith(f"lab1_backends.py:{line} defines it in a cell tagged try")


# --------------------------------------------------------------------------- without running


def written(tmp_path: Path, text: str, name: str = "mine.py") -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_syntax_error_has_its_line(tmp_path):
    text = handout.script(LAB) + "\n# %%\ndef broken(:\n"
    with pytest.raises(LabError, match="SyntaxError") as caught:
        checking.read(written(tmp_path, text), LAB)
    assert caught.value.place == f"mine.py:{text.count(chr(10))}"


def test_a_syntax_error_in_a_notebook_has_its_cell(tmp_path):
    notebook = handout.notebook("# %%\nx = 1\n\n# %%\ny = 2\ndef broken(:\n")
    with pytest.raises(LabError) as caught:
        checking.read(written(tmp_path, notebook, "mine.ipynb"), LAB)
    assert caught.value.place == "mine.ipynb, code cell 2, line 2"


@pytest.mark.parametrize("suffix", [".py", ".ipynb"])
def test_an_exercise_of_another_release(tmp_path, suffix):
    text = handout.script(LAB).replace(f"release: {__version__}", "release: 0.0.1")
    content = handout.notebook(text) if suffix == ".ipynb" else text
    with pytest.raises(LabError, match=r"handed out by tclab 0\.0\.1"):
        checking.read(written(tmp_path, content, f"old{suffix}"), LAB)


def test_an_answer_to_another_lab(tmp_path):
    path = written(tmp_path, handout.script(source.get(ROOT, 2)))
    with pytest.raises(LabError, match="an answer to lab2_capture") as caught:
        checking.read(path, LAB)
    assert caught.value.next_step == "tclab lab check 2 mine.py"


@pytest.mark.parametrize(
    ("content", "part"), [(b"\xff\xfe\x00", "cannot be read"), (b'{"cells": 3}', "no notebook")]
)
def test_what_cannot_be_read(tmp_path, content, part):
    path = tmp_path / "mine.ipynb"
    path.write_bytes(content)
    with pytest.raises(LabError, match=part):
        checking.read(path, LAB)
    with pytest.raises(LabError, match="no such file"):
        checking.read(tmp_path / "none.py", LAB)


def test_without_a_compiler_an_exercise_is_not_judged(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    text = answers_read.solved(LAB)
    answer = checking.answer_from_text(LAB, text, only=["stages"])
    (checked,) = checking.check([answer], Plan(project_root()), warm=False)
    (verdict,) = checked.verdicts
    assert (verdict.state, checked.failure) == ("lacking", None)
    assert "g++" in verdict.why


def test_markers_that_do_not_pair(tmp_path):
    labs = tmp_path / "docs" / "labs"
    labs.mkdir(parents=True)
    for body in ("### BEGIN SOLUTION\n", "### END SOLUTION\n"):
        (labs / "lab1_x.py").write_text(f"# %%\n{body}", encoding="utf-8")
        with pytest.raises(LabError, match="SOLUTION"):
            source.find(tmp_path)


def test_without_jupytext_it_says_what_to_install(tmp_path, monkeypatch):
    notebook = written(tmp_path, handout.notebook(handout.script(LAB)), "mine.ipynb")
    monkeypatch.setitem(sys.modules, "jupytext", None)
    with pytest.raises(LabError, match="jupytext is not installed") as caught:
        checking.read(notebook, LAB)
    assert "[labs]" in caught.value.next_step
    with pytest.raises(LabError, match="jupytext"):
        handout.write(LAB, tmp_path / "answers")
    assert not (tmp_path / "answers").exists()
