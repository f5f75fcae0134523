"""Check a reader's file: read it, run it in a process of its own under limits, tell what holds.

The file is read and never written. What can be said without running it is said first.
"""

from __future__ import annotations

import ast
import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tclab import __version__, machine
from tclab.engine import schedule
from tclab.engine.events import OnEvent, silent
from tclab.engine.plan import Plan
from tclab.errors import LabError
from tclab.labs import handout, left_out, verdict
from tclab.labs.judge import VERDICT, Order, load
from tclab.labs.source import PERCENT, Lab, cells
from tclab.labs.verdict import StepResult, Verdict
from tclab.model import Run, Snippet, Text

#: Seconds and MiB that a reader's file gets, the judging included.
SECONDS, MEMORY = 120.0, 4096


@dataclass(frozen=True)
class Answer:
    """A reader's file as it is judged. `text` is in the percent format, whatever the file is."""

    lab: str
    place: str
    text: str
    folder: Path
    only: tuple[str, ...] = ()
    seconds: float = SECONDS
    is_notebook: bool = False


@dataclass(frozen=True)
class Checked:
    """What came of an answer: a verdict an exercise, and why it ended early, if it did."""

    answer: Answer
    verdicts: tuple[Verdict, ...]
    failure: LabError | None = None

    @property
    def passed(self) -> bool:
        return self.failure is None and all(v.passed for v in self.verdicts)


# --------------------------------------------------------------------------- reading


def read(path: Path, lab: Lab, *, only: tuple[str, ...] = (), seconds: float = SECONDS) -> Answer:
    """A reader's ``.py`` or ``.ipynb``. LabError says what is wrong with it."""
    place = path.name
    if not path.is_file():
        step = f"get the exercise: tclab lab start {lab.number}"
        raise LabError(str(path), "there is no such file", step)
    raw = content(path)
    is_notebook = path.suffix == ".ipynb" or raw.lstrip().startswith("{")
    text = _of_notebook(raw, place) if is_notebook else raw
    _check_release(raw, place, lab)
    folder = path.resolve().parent
    answer = Answer(lab.name, place, text, folder, only, seconds, is_notebook)
    check_syntax(answer)
    return answer


def content(path: Path) -> str:
    """The text of a reader's file; LabError if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise LabError(path.name, f"cannot be read: {error}", "save it as UTF-8") from None


def _of_notebook(raw: str, place: str) -> str:
    jupytext = handout.installed("jupytext")
    try:
        text: str = jupytext.writes(jupytext.reads(raw, fmt="ipynb"), fmt=PERCENT)
    except Exception as error:
        cause = f"is no notebook that can be read: {error}"
        raise LabError(place, cause, "save it in Jupyter, or give the .py") from None
    return text


def _check_release(raw: str, place: str, lab: Lab) -> None:
    name, release = handout.made_for(raw)
    if name and name != lab.name:
        step = f"tclab lab check {name[3:4]} {place}"
        raise LabError(place, f"this is an answer to {name}, not to {lab.name}", step)
    if release and release != __version__:
        cause = f"it was handed out by tclab {release}, and this is {__version__}"
        start = f"tclab lab start {lab.number} FOLDER"
        raise LabError(place, cause, f"get the new exercise ({start}), copy your functions over")


def check_syntax(answer: Answer) -> None:
    """LabError with the line where the text is no Python."""
    try:
        ast.parse(answer.text)
    except SyntaxError as error:
        at = at_line(answer, error.lineno or 1)
        code = f": {error.text.strip()}" if error.text else ""
        raise LabError(at, f"{type(error).__name__}: {error.msg}{code}", "mend it") from None


def at_line(answer: Answer, line: int) -> str:
    """A line of the answer's text as the reader counts: in a notebook, within its cell."""
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
    on_event: OnEvent = silent,
    *,
    seed: int | None = None,
    warm: bool | None = None,
) -> list[Checked]:
    """Judge each answer in a process of its own; nothing of it is kept.

    Raises UnsupportedTorch where there is no PyTorch that this tclab knows.
    """
    machine.check_torch()
    snippets = [_snippet(number, answer, seed) for number, answer in enumerate(answers, 1)]
    runs = schedule.run(
        snippets,
        plan,
        on_event=on_event,
        environment="check",
        force=True,
        warm=warm,
        keep=lambda run: None,
    )
    return [_checked(answer, runs[snippet.name]) for answer, snippet in zip(answers, snippets)]


def _snippet(number: int, answer: Answer, seed: int | None) -> Snippet:
    drawn = secrets.randbits(32) if seed is None else seed
    order = Order(answer.lab, list(answer.only), drawn)
    return Snippet(
        name=f"check/{answer.lab}_{os.getpid()}_{number}",
        path=answer.folder / answer.place,
        title=answer.place,
        caption="",
        source=f"{left_out.blanked(answer.text)}\n{order.line()}",
        timeout=answer.seconds,
        memory=MEMORY,
        place=answer.place,
        runner="tclab.labs.judge.run",
    )


# --------------------------------------------------------------------------- reporting


def _checked(answer: Answer, run: Run) -> Checked:
    texts = [a.text for a in run.artifacts if isinstance(a, Text) and a.name.startswith(VERDICT)]
    judged = {v.exercise: _located(v, answer) for v in map(verdict.decode, texts)}
    why = "the check ended before this was judged"
    verdicts = (
        judged.get(e.name) or Verdict(e.name, e.title, "unreached", (), why)
        for e in load(answer.lab, answer.only)
    )
    return Checked(answer, tuple(verdicts), failure_of(answer, run))


def _located(judged: Verdict, answer: Answer) -> Verdict:
    """The verdict with its lines in words, as the reader counts them; and with the place of what
    was not found, where it stands in a cell that a check leaves out.
    """
    line = left_out.line_of(judged.exercise, answer.text)
    if line and judged.state in ("untouched", "absent"):
        at = at_line(answer, line)
        why = f"{at} defines it in a cell tagged try, which a check leaves out; put # %% above it"
        return replace(judged, state="absent", why=why)
    return replace(judged, steps=tuple(_step_located(step, answer) for step in judged.steps))


def _step_located(step: StepResult, answer: Answer) -> StepResult:
    return replace(step, why=f"{step.why} ({at_line(answer, step.line)})") if step.line else step


#: What to do about an end of its process, in the reader's terms; else what the engine advises.
_STEPS = {
    "timeout": "see what that line waits for; put what only tries things out into a cell "
    "tagged try",
    "memory": "make it smaller",
    "exit": "let the file end by itself",
    "signal": "run the file alone: python -X faulthandler FILE",
}


def failure_of(answer: Answer, run: Run) -> LabError | None:
    """Why the file's process did not come to its end, in the reader's terms."""
    failure = run.failure
    if failure is None:
        return None
    causes = {
        "timeout": f"still running after {answer.seconds:g} s: an endless loop, or far too much "
        "work",
        "memory": f"it took more than {MEMORY} MiB of memory",
        "exit": f"it ended its own process: {failure.message}",
    }
    place = at_line(answer, failure.location.line) if failure.location else answer.place
    step = _STEPS.get(failure.cause, failure.next_step)
    return LabError(place, causes.get(failure.cause, failure.message), step)


def answer_of(lab: Lab, text: str, *, only: Sequence[str] = (), seconds: float = SECONDS) -> Answer:
    """A text as an answer, without a file: what the tests judge."""
    answer = Answer(lab.name, f"{lab.name}.py", text, Path.cwd(), tuple(only), seconds)
    check_syntax(answer)
    return answer
