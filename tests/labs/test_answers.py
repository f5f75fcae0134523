"""Every right answer passes, and every wrong one fails at the step that has its hint."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tclab.site.engine.plan import Plan
from tclab.site.labs import check as checking
from tclab.site.labs import judge, source
from tclab.system.project import project_root
from tests.labs import answers_read

ROOT = Path(__file__).resolve().parents[2]
LABS = source.find(ROOT)


@pytest.fixture(scope="module")
def checked():
    """Every planted answer and each lab's own, judged from one warm process."""
    every = [(lab, planted) for lab in LABS for planted in answers_read.planted(lab)]
    answers = [checking.answer_from_text(lab, p.text(lab), only=[p.exercise]) for lab, p in every]
    answers += [checking.answer_from_text(lab, answers_read.solved(lab)) for lab in LABS]
    plan = Plan(project_root())
    judged = checking.check(answers, plan, seed=20261121, warm=True)
    own = judged[len(every) :]
    return {
        lab.name: ([(p, c) for (of, p), c in zip(every, judged) if of is lab], own[number])
        for number, lab in enumerate(LABS)
    }


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.name)
def test_right_passes_and_wrong_fails_with_its_own_hint(lab, checked):
    planted, own = checked[lab.name]
    problems = [f"{p}: {one}" for p, c in planted if (one := _problem(p, c))]
    problems += [f"the lab's own: {own.failure or own.verdicts}"] * (not own.passed)
    assert not problems, "\n".join(problems)


def _problem(planted: answers_read.Planted, checked: checking.CheckResult) -> str:
    if checked.failure:
        return str(checked.failure)
    (verdict,) = checked.verdicts
    failed = verdict.first_failed
    if not planted.step:
        return "" if verdict.passed else f"should pass: {verdict.why or failed}"
    if failed is None:
        return f"should fail at {planted.step}: {verdict.state} {verdict.why}"
    hints = f"{failed.name} has no hints" if len(failed.hints) < 2 else ""
    return hints if failed.name == planted.step else f"should fail at {planted.step}: {failed}"


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.name)
def test_each_exercise_has_two_other_right_answers_and_three_wrong_ones(lab):
    planted = answers_read.planted(lab)
    right = Counter(p.exercise for p in planted if not p.step)
    wrong = {(p.exercise, p.step) for p in planted if p.step}
    steps = Counter(exercise for exercise, _ in wrong)
    names = [exercise.name for exercise in judge.load_exercises(lab.name)]
    assert names
    assert all(right[name] >= 2 for name in names), right
    assert all(steps[name] >= 3 for name in names), steps
    assert all(
        step in {s.name for e in judge.load_exercises(lab.name) if e.name == name for s in e.steps}
        for name, step in wrong
    )


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.name)
def test_every_exercise_is_in_the_source_with_a_solution(lab):
    solved = "\n".join(cell.text for cell in lab.cells if cell.has_solution)
    for exercise in judge.load_exercises(lab.name):
        assert f"def {exercise.name}(" in solved or f"class {exercise.name}(" in solved
