"""Check a reader's file: read it, run it in a process of its own under limits, tell what holds.

The file is read and never written. What can be said without running it is said first.
"""

from __future__ import annotations

import ast
import dataclasses
import json
import os
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tclab import __version__, machine
from tclab.engine import schedule
from tclab.engine.events import OnEvent, silent
from tclab.engine.plan import Plan
from tclab.errors import LabError
from tclab.labs import handout, tried, verdict
from tclab.labs.exercise import Exercise
from tclab.labs.judge import VERDICT, Order, load
from tclab.labs.source import PERCENT, Lab, cells
from tclab.labs.verdict import Verdict
from tclab.model import Failure, Run, Snippet, Text

#: Seconds and MiB that a reader's file gets, the judging included.
SECONDS, MEMORY = 120.0, 4096

_PACKAGE = Path(__file__).resolve().parent


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
    _check_release(raw if is_notebook else text, place, lab)
    folder = path.resolve().parent
    answer = Answer(lab.name, place, text, folder, only, seconds, is_notebook)
    check_syntax(answer)
    return answer


def content(path: Path) -> str:
    """The text of a reader's file; LabError if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise LabError(path.name, f"cannot be read: {error}", "save it as UTF-8") from None


def _of_notebook(raw: str, place: str) -> str:
    jupytext = handout.jupytext()
    try:
        text: str = jupytext.writes(jupytext.reads(raw, fmt="ipynb"), fmt=PERCENT)
    except Exception as error:
        cause = f"is no notebook that can be read: {error}"
        raise LabError(place, cause, "save it in Jupyter, or give the .py") from None
    return text


def _check_release(raw: str, place: str, lab: Lab) -> None:
    name, release = handout.made_for(raw)
    if not name:
        name, release = _told(raw)
    if name and name != lab.name:
        number = name[3:4]
        step = f"tclab lab check {number} {place}"
        raise LabError(place, f"this is an answer to {name}, not to {lab.name}", step)
    if release and release != __version__:
        cause = f"it was handed out by tclab {release}, and this is {__version__}"
        step = (
            f"get the new exercise (tclab lab start {lab.number} FOLDER), copy your functions over"
        )
        raise LabError(place, cause, step)


def _told(raw: str) -> tuple[str, str]:
    """What a notebook's metadata say."""
    try:
        told = json.loads(raw)["metadata"]["tclab"]
        return str(told["lab"]), str(told["release"])
    except (ValueError, KeyError, TypeError):
        return "", ""


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
    orders = [_order(answer, seed) for answer in answers]
    snippets = [_snippet(n, a, o) for n, (a, o) in enumerate(zip(answers, orders), 1)]
    before = _files()
    runs = schedule.run(
        snippets,
        plan,
        on_event=on_event,
        environment="check",
        force=True,
        warm=warm,
        keep=lambda run: None,
    )
    damaged = not before <= _files()
    return [_checked(a, o, runs[s.name], damaged) for a, o, s in zip(answers, orders, snippets)]


def _order(answer: Answer, seed: int | None) -> Order:
    chosen = secrets.randbits(32) if seed is None else seed
    return Order(answer.lab, list(answer.only), chosen, secrets.token_hex(8))


def _snippet(number: int, answer: Answer, order: Order) -> Snippet:
    return Snippet(
        name=f"check/{answer.lab}_{os.getpid()}_{number}",
        path=answer.folder / answer.place,
        title=answer.place,
        caption="",
        source=f"{tried.to_run(answer.text)}\n{order.line()}",
        timeout=answer.seconds,
        memory=MEMORY,
        place=answer.place,
        runner="tclab.labs.judge.run",
    )


def _files() -> set[tuple[str, int]]:
    """The checker's files, and when each was written."""
    return {(str(path), path.stat().st_mtime_ns) for path in _PACKAGE.rglob("*.py")}


# --------------------------------------------------------------------------- telling


def _checked(answer: Answer, order: Order, run: Run, damaged: bool) -> Checked:
    texts = [a.text for a in run.artifacts if isinstance(a, Text) and a.name.startswith(VERDICT)]
    every = (_verdict(text, order.token) for text in texts)
    heard = {v.exercise: _misplaced(_in_cells(v, answer), answer) for v in every if v}
    exercises = load(answer.lab, answer.only)
    if damaged:
        cause = "while it ran, files of tclab's own checker were changed or removed"
        step = "take that out of your file, and restore tclab: git checkout src/tclab/labs"
        return Checked(answer, _unreached(exercises, {}), LabError(answer.place, cause, step))
    failure = failure_of(answer, run)
    return Checked(answer, _unreached(exercises, heard), failure)


def _verdict(text: str, token: str) -> Verdict | None:
    try:
        return verdict.decode(text, token)
    except (ValueError, KeyError, TypeError):
        return None


def _misplaced(judged: Verdict, answer: Answer) -> Verdict:
    """The verdict on what was not found, where it stands in a cell that a check leaves out."""
    line = tried.line_of(judged.exercise, answer.text)
    if not line or judged.state not in ("untouched", "absent"):
        return judged
    at = at_line(answer, line)
    why = f"{at} defines it in a cell tagged try, which a check leaves out; put # %% above it"
    return dataclasses.replace(judged, state="absent", why=why)


def _in_cells(judged: Verdict, answer: Answer) -> Verdict:
    """The verdict with the lines of a notebook counted as its reader does."""
    if not answer.is_notebook:
        return judged
    place = re.compile(rf"{re.escape(answer.place)}:(\d+)|(?<=\()line (\d+)(?=\)$)")

    def told(match: re.Match[str]) -> str:
        return at_line(answer, int(match[1] or match[2]))

    steps = (dataclasses.replace(s, why=place.sub(told, s.why)) for s in judged.steps)
    return dataclasses.replace(judged, steps=tuple(steps))


def _unreached(exercises: Sequence[Exercise], heard: dict[str, Verdict]) -> tuple[Verdict, ...]:
    why = "the check ended before this was judged"
    return tuple(
        heard.get(e.name) or Verdict(e.name, e.title, "unreached", (), why) for e in exercises
    )


def failure_of(answer: Answer, run: Run) -> LabError | None:
    """Why the file's process did not come to its end, in the reader's terms."""
    if run.failure is None:
        return None
    failure = run.failure
    line = failure.location.line if failure.location else 0
    place = at_line(answer, line) if line else answer.place
    return LabError(place, _cause(failure, answer), _step(failure))


def _cause(failure: Failure, answer: Answer) -> str:
    if failure.cause == "timeout":
        return f"still running after {answer.seconds:g} s: an endless loop, or far too much work"
    if failure.cause == "memory":
        return f"it took more than {MEMORY} MiB of memory"
    if failure.cause == "exit":
        return f"it ended its own process: {failure.message}"
    return failure.message


_STEPS = {
    "timeout": "see what that line waits for; put what only tries things out into a cell "
    "tagged try",
    "memory": "make it smaller",
    "exit": "let the file end by itself",
    "signal": "run the file alone: python -X faulthandler FILE",
}


def _step(failure: Failure) -> str:
    missing = failure.message.startswith("ModuleNotFoundError: No module named ")
    if missing:
        return f"pip install {failure.message.split(chr(39))[1].split('.')[0]}"
    return _STEPS.get(failure.cause) or _advice(failure)


def _advice(failure: Failure) -> str:
    """What the error itself advises, or what helps with any."""
    known = failure.next_step and "snippets/" not in failure.next_step
    return failure.next_step if known else "mend that line; the file must run by itself"


def answer_of(lab: Lab, text: str, *, only: Sequence[str] = (), seconds: float = SECONDS) -> Answer:
    """A text as an answer, without a file: what the tests judge."""
    answer = Answer(lab.name, f"{lab.name}.py", text, Path.cwd(), tuple(only), seconds)
    check_syntax(answer)
    return answer
