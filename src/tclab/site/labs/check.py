"""Check a reader's file: read it, run it under limits in a process of its own, and judge it.

The file is never changed. Errors that need no run, such as bad syntax, are raised before the run.
"""

from __future__ import annotations

import ast
import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tclab import __version__
from tclab.errors import LabError
from tclab.model import Run, Snippet, Text
from tclab.site.engine import schedule
from tclab.site.engine.events import OnEvent, ignore_event
from tclab.site.engine.plan import Plan
from tclab.site.labs import handout, trial_cells, verdict
from tclab.site.labs.judge import VERDICT, JudgeRequest, load_exercises
from tclab.site.labs.source import PERCENT, Lab, cells
from tclab.site.labs.verdict import StepResult, Verdict
from tclab.system import machine

#: Limits of the process that runs and judges a reader's file: seconds, and MiB of memory.
SECONDS, MEMORY = 120.0, 4096


@dataclass(frozen=True)
class Answer:
    """A reader's file to judge. `text` is in the percent format, also for a notebook."""

    lab: str
    place: str
    text: str
    folder: Path
    only: tuple[str, ...] = ()
    seconds: float = SECONDS
    is_notebook: bool = False


@dataclass(frozen=True)
class CheckResult:
    """The verdicts on an answer's exercises; `failure` is the error that ended its run early."""

    answer: Answer
    verdicts: tuple[Verdict, ...]
    failure: LabError | None = None

    @property
    def passed(self) -> bool:
        return self.failure is None and all(v.passed for v in self.verdicts)


# --------------------------------------------------------------------------- reading


def read(path: Path, lab: Lab, *, only: tuple[str, ...] = (), seconds: float = SECONDS) -> Answer:
    """Read a reader's ``.py`` or ``.ipynb``. Raises LabError if it cannot be judged."""
    place = path.name
    if not path.is_file():
        step = f"get the exercise: tclab lab start {lab.number}"
        raise LabError(str(path), "there is no such file", step)
    raw = read_text(path)
    is_notebook = path.suffix == ".ipynb" or raw.lstrip().startswith("{")
    text = _convert_notebook(raw, place) if is_notebook else raw
    _check_release(raw, place, lab)
    folder = path.resolve().parent
    answer = Answer(lab.name, place, text, folder, only, seconds, is_notebook)
    check_syntax(answer)
    return answer


def read_text(path: Path) -> str:
    """Return the text of a reader's file. Raises LabError if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise LabError(path.name, f"cannot be read: {error}", "save it as UTF-8") from None


def _convert_notebook(raw: str, place: str) -> str:
    """Return the text of a notebook in the percent format."""
    jupytext = handout.import_package("jupytext")
    try:
        text: str = jupytext.writes(jupytext.reads(raw, fmt="ipynb"), fmt=PERCENT)
    except Exception as error:
        cause = f"is no notebook that can be read: {error}"
        raise LabError(place, cause, "save it in Jupyter, or give the .py") from None
    return text


def _check_release(raw: str, place: str, lab: Lab) -> None:
    name, release = handout.lab_and_release(raw)
    if name and name != lab.name:
        step = f"tclab lab check {name[3:4]} {place}"
        raise LabError(place, f"this is an answer to {name}, not to {lab.name}", step)
    if release and release != __version__:
        cause = f"it was handed out by tclab {release}, and this is {__version__}"
        start = f"tclab lab start {lab.number} FOLDER"
        raise LabError(place, cause, f"get the new exercise ({start}), copy your functions over")


def check_syntax(answer: Answer) -> None:
    """Raise LabError, with the line, if the text is not valid Python."""
    try:
        ast.parse(answer.text)
    except SyntaxError as error:
        at = describe_line(answer, error.lineno or 1)
        code = f": {error.text.strip()}" if error.text else ""
        raise LabError(at, f"{type(error).__name__}: {error.msg}{code}", "mend it") from None


def describe_line(answer: Answer, line: int) -> str:
    """Name a line of the answer so that the reader can find it: ``FILE:LINE``, or a line within a
    cell.
    """
    if not answer.is_notebook:
        return f"{answer.place}:{line}"
    code = [cell for cell in cells(answer.text) if cell.kind == "code" and cell.line < line]
    if not code:
        return answer.place
    return f"{answer.place}, code cell {len(code)}, line {line - code[-1].line}"


# --------------------------------------------------------------------------- running


def check(
    answers: Sequence[Answer],
    plan: Plan,
    on_event: OnEvent = ignore_event,
    *,
    seed: int | None = None,
    warm: bool | None = None,
) -> list[CheckResult]:
    """Judge each answer in a process of its own; no run is saved.

    Raises UnsupportedTorch without a PyTorch that this tclab supports.
    """
    machine.check_torch()
    snippets = [_make_snippet(number, answer, seed) for number, answer in enumerate(answers, 1)]
    runs = schedule.run(
        snippets,
        plan,
        on_event=on_event,
        environment="check",
        force=True,
        warm=warm,
        keep=lambda run: None,
    )
    return [_read_result(answer, runs[snippet.name]) for answer, snippet in zip(answers, snippets)]


def _make_snippet(number: int, answer: Answer, seed: int | None) -> Snippet:
    drawn = secrets.randbits(32) if seed is None else seed
    request = JudgeRequest(answer.lab, list(answer.only), drawn)
    return Snippet(
        name=f"check/{answer.lab}_{os.getpid()}_{number}",
        path=answer.folder / answer.place,
        title=answer.place,
        caption="",
        source=f"{trial_cells.blank_trial_cells(answer.text)}\n{request.as_comment()}",
        timeout=answer.seconds,
        memory=MEMORY,
        place=answer.place,
        runner="tclab.site.labs.judge.run",
    )


# --------------------------------------------------------------------------- reporting


def _read_result(answer: Answer, run: Run) -> CheckResult:
    texts = [a.text for a in run.artifacts if isinstance(a, Text) and a.name.startswith(VERDICT)]
    judged = {v.exercise: _add_places(v, answer) for v in map(verdict.decode, texts)}
    why = "the check ended before this was judged"
    verdicts = (
        judged.get(e.name) or Verdict(e.name, e.title, "unreached", (), why)
        for e in load_exercises(answer.lab, answer.only)
    )
    return CheckResult(answer, tuple(verdicts), explain_failure(answer, run))


def _add_places(judged: Verdict, answer: Answer) -> Verdict:
    """Add places in the reader's file to a verdict's reasons. If only a trial cell defines a
    function that was not found, the reason says so.
    """
    line = trial_cells.line_of_definition(judged.exercise, answer.text)
    if line and judged.state in ("untouched", "absent"):
        at = describe_line(answer, line)
        why = f"{at} defines it in a cell tagged try, which a check leaves out; put # %% above it"
        return replace(judged, state="absent", why=why)
    return replace(judged, steps=tuple(_add_place(step, answer) for step in judged.steps))


def _add_place(step: StepResult, answer: Answer) -> StepResult:
    return (
        replace(step, why=f"{step.why} ({describe_line(answer, step.line)})") if step.line else step
    )


#: The cause that ended the process → the next step, in the reader's terms. Other causes keep the
#: engine's next step.
_STEPS = {
    "timeout": "see what that line waits for; put what only tries things out into a cell "
    "tagged try",
    "memory": "make it smaller",
    "exit": "let the file end by itself",
    "signal": "run the file alone: python -X faulthandler FILE",
}


def explain_failure(answer: Answer, run: Run) -> LabError | None:
    """Return the error, in the reader's terms, of a run that did not reach its end; None if the run
    reached it.
    """
    failure = run.failure
    if failure is None:
        return None
    causes = {
        "timeout": f"still running after {answer.seconds:g} s: an endless loop, or far too much "
        "work",
        "memory": f"it took more than {MEMORY} MiB of memory",
        "exit": f"it ended its own process: {failure.message}",
    }
    place = describe_line(answer, failure.location.line) if failure.location else answer.place
    step = _STEPS.get(failure.cause, failure.next_step)
    return LabError(place, causes.get(failure.cause, failure.message), step)


def answer_from_text(
    lab: Lab, text: str, *, only: Sequence[str] = (), seconds: float = SECONDS
) -> Answer:
    """Make an answer from a text without a file, for tests."""
    answer = Answer(lab.name, f"{lab.name}.py", text, Path.cwd(), tuple(only), seconds)
    check_syntax(answer)
    return answer
