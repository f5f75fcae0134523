"""Runs in the reader's process: executes the file, then judges each exercise by its steps."""

from __future__ import annotations

import ast
import importlib
import json
import traceback
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tclab import claims, display, machine
from tclab.engine.worker.protocol import JobFile
from tclab.labs.exercise import Answer, Draw, Exercise, Step, Wrong
from tclab.labs.exercises import HANDED_OUT
from tclab.labs.verdict import State, StepResult, Verdict, encode
from tclab.model import Text

#: How the last line of the file begins, which says what to judge.
ORDER = "# tclab-check: "
VERDICT = "verdict"


@dataclass(frozen=True)
class Order:
    """What to judge: of which lab, which exercises, with which draw."""

    lab: str
    only: list[str]
    seed: int

    def line(self) -> str:
        """The order as a line of Python."""
        return ORDER + json.dumps(self.__dict__)


def run(tree: ast.Module, job: JobFile, main: dict[str, Any]) -> None:
    """Execute the reader's file, then judge it."""
    order = Order(**json.loads(job["source"].rsplit(ORDER, 1)[1]))
    show = display.collecting() or display.show
    exercises = load(order.lab, order.only)
    display.collect(lambda artifact: None)  # what a reader shows is for the reader
    exec(claims.compiled(tree, job["file"]), main)
    for exercise in exercises:
        verdict = judge(exercise, tree, main, order, job)
        show(Text(name=VERDICT, text=encode(verdict)))


def load(lab: str, only: Iterable[str] = ()) -> list[Exercise]:
    """The exercises of a lab, those named in `only` where any are."""
    module = importlib.import_module(f"tclab.labs.exercises.{lab}")
    every: list[Exercise] = module.EXERCISES
    chosen = set(only)
    return [exercise for exercise in every if not chosen or exercise.name in chosen]


# --------------------------------------------------------------------------- judging


def judge(
    exercise: Exercise, tree: ast.Module, main: dict[str, Any], order: Order, job: JobFile
) -> Verdict:
    """Every step of one exercise, on inputs of its own."""
    answer = main.get(exercise.name)
    if not callable(answer):
        return _state(exercise, "absent", f"there is no {exercise.name} in the file")
    if untouched(tree, exercise.name):
        return _state(exercise, "untouched", "still as it was handed out")
    if lacks := _lacking(exercise):
        return _state(exercise, "lacking", lacks)
    results = [_try(step, answer, Draw(order.seed), job["file"]) for step in exercise.steps]
    state: State = "passed" if all(result.holds for result in results) else "failed"
    return Verdict(exercise.name, exercise.title, state, tuple(results))


def untouched(tree: ast.Module, name: str) -> bool:
    """Whether the last definition of what the reader writes is still what was handed out."""
    last = [top for top in tree.body if getattr(top, "name", "") == name][-1:]
    return any(
        isinstance(node, ast.Raise) and HANDED_OUT in ast.unparse(node)
        for top in last
        for node in ast.walk(top)
    )


def _state(exercise: Exercise, state: State, why: str) -> Verdict:
    return Verdict(exercise.name, exercise.title, state, (), why)


_HAVE = {"cuda": machine.has_cuda, "cxx": machine.has_cxx, "triton": machine.triton_version}


def _lacking(exercise: Exercise) -> str:
    missing = [machine.to_install(need) for need in sorted(exercise.needs) if not _HAVE[need]()]
    return f"it needs {' and '.join(missing)}" if missing else ""


def _try(step: Step, answer: Answer, draw: Draw, file: str) -> StepResult:
    why, line = "", 0
    try:
        step.probe(answer, draw)
    except Wrong as error:
        why, line = _with_place(error, file)
    except AssertionError as error:
        why = _text(error) or "AssertionError"
    except Exception as error:
        why, line = f"{type(error).__name__}: {_text(error)}", _line(error, file)
    return StepResult(step.name, step.says, not why, why[:500], line, step.hints)


def _text(error: BaseException) -> str:
    """What the error says; a reader's own may raise when it is asked."""
    try:
        return str(error)
    except Exception as another:
        return f"its __str__ raised {type(another).__name__}"


def _with_place(error: Wrong, file: str) -> tuple[str, int]:
    """Why, and the reader's line; one of another file is said in the text."""
    place = error.location
    if place is None or place.file == file:
        return str(error), place.line if place else 0
    return f"{error} ({place})", 0


def _line(error: BaseException, file: str) -> int:
    """The reader's line that raised; 0 where none did."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == file]
    return frames[-1].lineno or 0 if frames else 0
