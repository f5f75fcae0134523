"""Execute a reader's file and judge its exercises, in the process of the file."""

from __future__ import annotations

import ast
import importlib
import json
import traceback
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tclab import display
from tclab.model import Text
from tclab.site.engine.worker.protocol import JobFile
from tclab.site.labs.exercise import Answer, Exercise, RandomInputs, Step, WrongAnswer
from tclab.site.labs.exercises import UNSOLVED
from tclab.site.labs.verdict import State, StepResult, Verdict, encode
from tclab.site.snippets import claims
from tclab.system import machine

#: The beginning of the comment that holds the request, at the end of the file.
REQUEST_MARK = "# tclab-check: "
VERDICT = "verdict"


@dataclass(frozen=True)
class JudgeRequest:
    """The exercises to judge: all of `lab`, or the ones named in `only`, with inputs drawn from
    `seed`.
    """

    lab: str
    only: list[str]
    seed: int

    def as_comment(self) -> str:
        """Return the request as a line to put at the end of a Python file."""
        return REQUEST_MARK + json.dumps(self.__dict__)


def run(tree: ast.Module, job: JobFile, main: dict[str, Any]) -> None:
    """Execute the reader's file, then judge it and show a verdict for each exercise."""
    request = JudgeRequest(**json.loads(job["source"].rsplit(REQUEST_MARK, 1)[1]))
    show = display.get_sink() or display.show
    exercises = load_exercises(request.lab, request.only)
    display.set_sink(lambda artifact: None)  # drop the artifacts of the reader's own code
    exec(claims.compile_tree(tree, job["file"]), main)
    for exercise in exercises:
        verdict = judge(exercise, tree, main, request, job)
        show(Text(name=VERDICT, text=encode(verdict)))


def load_exercises(lab: str, only: Iterable[str] = ()) -> list[Exercise]:
    """Import the exercises of a lab. If `only` names any, import only these."""
    module = importlib.import_module(f"tclab.site.labs.exercises.{lab}")
    every: list[Exercise] = module.EXERCISES
    chosen = set(only)
    return [exercise for exercise in every if not chosen or exercise.name in chosen]


# --------------------------------------------------------------------------- judging


def judge(
    exercise: Exercise, tree: ast.Module, main: dict[str, Any], request: JudgeRequest, job: JobFile
) -> Verdict:
    """Judge one exercise: try each of its steps with newly drawn inputs."""
    answer = main.get(exercise.name)
    if not callable(answer):
        return _make_unjudged_verdict(
            exercise, "absent", f"there is no {exercise.name} in the file"
        )
    if is_untouched(tree, exercise.name):
        return _make_unjudged_verdict(exercise, "untouched", "still as it was handed out")
    if missing := _missing_needs(exercise):
        return _make_unjudged_verdict(exercise, "lacking", missing)
    results = [
        _judge_step(step, answer, RandomInputs(request.seed), job["file"])
        for step in exercise.steps
    ]
    state: State = "passed" if all(result.holds for result in results) else "failed"
    return Verdict(exercise.name, exercise.title, state, tuple(results))


def is_untouched(tree: ast.Module, name: str) -> bool:
    """Return whether the file's last definition of `name` still has no solution."""
    last = [top for top in tree.body if getattr(top, "name", "") == name][-1:]
    return any(
        isinstance(node, ast.Raise) and UNSOLVED in ast.unparse(node)
        for top in last
        for node in ast.walk(top)
    )


def _make_unjudged_verdict(exercise: Exercise, state: State, reason: str) -> Verdict:
    return Verdict(exercise.name, exercise.title, state, (), reason)


_HAS_NEED = {"cuda": machine.has_cuda, "cxx": machine.has_cxx, "triton": machine.triton_version}


def _missing_needs(exercise: Exercise) -> str:
    """Return, in words, what this machine lacks for the exercise; '' if it lacks nothing."""
    missing = [
        machine.describe_need(need) for need in sorted(exercise.needs) if not _HAS_NEED[need]()
    ]
    return f"it needs {' and '.join(missing)}" if missing else ""


def _judge_step(step: Step, answer: Answer, random_inputs: RandomInputs, file: str) -> StepResult:
    why, line = "", 0
    try:
        step.probe(answer, random_inputs)
    except WrongAnswer as error:
        why, line = _reason_and_line(error, file)
    except AssertionError as error:
        why = _error_text(error) or "AssertionError"
    except Exception as error:
        why, line = f"{type(error).__name__}: {_error_text(error)}", _error_line(error, file)
    return StepResult(step.name, step.says, not why, why[:500], line, step.hints)


def _error_text(error: BaseException) -> str:
    """Return the message of an error, even if the ``__str__`` of the reader's own class raises."""
    try:
        return str(error)
    except Exception as another:
        return f"its __str__ raised {type(another).__name__}"


def _reason_and_line(error: WrongAnswer, file: str) -> tuple[str, int]:
    """Return the reason, and the line in the reader's file. If the error arose in another file, the
    line is 0 and the reason names the place.
    """
    place = error.location
    if place is None or place.file == file:
        return str(error), place.line if place else 0
    return f"{error} ({place})", 0


def _error_line(error: BaseException, file: str) -> int:
    """Return the innermost line of `file` in the error's traceback; 0 if there is none."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == file]
    return frames[-1].lineno or 0 if frames else 0
