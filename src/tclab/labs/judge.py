"""Runs in the reader's process: executes the file, then judges each exercise by its steps.

What judges is looked at before the reader's code runs and after each exercise: a file that replaces
a part of it gets no verdict but that.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import json
import sys
import time
import traceback
from collections.abc import Iterable
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any

from tclab import display, machine
from tclab.engine.worker.protocol import JobFile
from tclab.labs.exercise import Draw, Exercise, Step
from tclab.labs.exercises import HANDED_OUT
from tclab.labs.verdict import State, StepResult, Verdict, encode
from tclab.model import Text

#: How the last line of the file begins, which says what to judge.
ORDER = "# tclab-check: "
VERDICT = "verdict"


@dataclass(frozen=True)
class Order:
    """What to judge: of which lab, which exercises, with which draw, for whom."""

    lab: str
    only: list[str]
    seed: int
    token: str

    def line(self) -> str:
        """The order as a line of Python."""
        return ORDER + json.dumps(self.__dict__)


def run(tree: ast.Module, job: JobFile, main: dict[str, Any]) -> None:
    """Execute the reader's file, then judge it."""
    order = Order(**json.loads(job["source"].rsplit(ORDER, 1)[1]))
    sink = display.collecting()
    exercises = load(order.lab, order.only)
    before = Fingerprint()
    display.collect(lambda artifact: None)  # what a reader shows is for the reader
    exec(compile(tree, job["file"], "exec", dont_inherit=True), main)
    for exercise in exercises:
        changed = before.changed()
        verdict = (
            tampered(exercise, changed) if changed else judge(exercise, tree, main, order, job)
        )
        changed = changed or before.changed()
        verdict = tampered(exercise, changed) if changed else verdict
        if sink:
            sink(Text(name=VERDICT, text=encode(verdict, order.token)))


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
    state: State = "passed" if all(result.held for result in results) else "failed"
    return Verdict(exercise.name, exercise.title, state, tuple(results))


def untouched(tree: ast.Module, name: str) -> bool:
    """Whether the last definition of what the reader writes is still what was handed out."""
    last = [top for top in tree.body if getattr(top, "name", "") == name][-1:]
    return any(
        isinstance(node, ast.Raise) and HANDED_OUT in ast.unparse(node)
        for top in last
        for node in ast.walk(top)
    )


def tampered(exercise: Exercise, changed: str) -> Verdict:
    """The verdict on a file that changes what judges it."""
    return _state(exercise, "tampered", f"the file replaces {changed}, which the check needs")


def _state(exercise: Exercise, state: State, why: str) -> Verdict:
    return Verdict(exercise.name, exercise.title, state, (), why)


_HAVE = {"cuda": machine.has_cuda, "cxx": machine.has_cxx, "triton": machine.triton_version}
_INSTALL = {
    "cuda": "a GPU that PyTorch can use",
    "cxx": "a C++ compiler (Debian: apt-get install g++; or name yours in CXX)",
    "triton": "Triton (pip install the one that pairs with this PyTorch)",
}


def _lacking(exercise: Exercise) -> str:
    missing = [_INSTALL[need] for need in sorted(exercise.needs) if not _HAVE[need]()]
    return f"it needs {' and '.join(missing)}" if missing else ""


def _try(step: Step, answer: Any, draw: Draw, file: str) -> StepResult:
    why = ""
    try:
        result = step.probe(answer, draw)
        why = result if isinstance(result, str) else ""
        held = not why and result is not False
    except AssertionError as error:
        held, why = False, str(error)
    except Exception as error:
        held, why = False, f"{type(error).__name__}: {error}{_place(error, file)}"
    return StepResult(step.name, step.says, held, "" if held else why[:500], step.hints)


def _place(error: BaseException, file: str) -> str:
    """The reader's line that raised."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == file]
    return f" (line {frames[-1].lineno})" if frames else ""


# --------------------------------------------------------------------------- what judges

_OWN = ("tclab.labs", "tclab.capturing", "tclab.display", "tclab.model")
_TORCH = (
    "compile",
    "equal",
    "allclose",
    "isclose",
    "where",
    "compiler.reset",
    "testing.assert_close",
)


class Fingerprint:
    """What the check rests on, as it is now: tclab's functions, some of PyTorch's and Python's."""

    def __init__(self) -> None:
        self.parts = dict(_parts())

    def changed(self) -> str:
        """The first part that is not what it was; '' where all are."""
        now = dict(_parts())
        changed = [name for name, part in self.parts.items() if now.get(name) != part]
        return changed[0] if changed else ""


def _parts() -> Iterable[tuple[str, object]]:
    for name, module in list(sys.modules.items()):
        if name.startswith(_OWN):
            yield name, id(module)
            for key, value in list(vars(module).items()):
                if isinstance(value, (FunctionType, type)):
                    yield f"{name}.{key}", (id(value), id(getattr(value, "__code__", None)))
    for key, value in vars(builtins).items():
        if key != "_":
            yield f"builtins.{key}", id(value)
    yield "time.perf_counter", id(time.perf_counter)
    torch = sys.modules.get("torch")
    yield from ((f"torch.{name}", id(_attribute(torch, name))) for name in _TORCH if torch)


def _attribute(module: ModuleType | None, name: str) -> object:
    value: object = module
    for part in name.split("."):
        value = getattr(value, part, None)
    return value
