"""Judge a reader's model in a process of its own, and write what was found as one page."""

from __future__ import annotations

import ast
import json
import os
from dataclasses import dataclass
from pathlib import Path

from tclab import machine, render
from tclab.engine import schedule
from tclab.engine.events import OnEvent, silent
from tclab.engine.plan import Plan
from tclab.errors import LabError
from tclab.labs import check as answers
from tclab.labs.capstone.findings import ORDER
from tclab.model import Report, Run, Snippet, Table
from tclab.render import standalone
from tclab.render.escape import NEWLINE, esc, join, tag

SECONDS, MEMORY = 600.0, 8192

#: What a reader's model may be called without saying so.
NAMES = ("model", "Model", "make_model")


@dataclass(frozen=True)
class Judged:
    """The tables of a run, the report, and where the page is."""

    findings: Table
    times: Table
    report: Report
    run: Run

    @property
    def passed(self) -> bool:
        return all(row[1] == "yes" for row in self.findings.rows)


def judge(spec: str, plan: Plan, *, seconds: float = SECONDS, on_event: OnEvent = silent) -> Judged:
    """``FILE.py`` or ``FILE.py:NAME``, looked at. LabError says what keeps it from being judged."""
    machine.check_torch()
    where, _, name = spec.partition(":")
    path = Path(where)
    if not path.is_file():
        raise LabError(where, "there is no such file", "write it: a model, and example_inputs()")
    answer = answers.Answer(
        "capstone", path.name, answers.content(path), path.resolve().parent, (), seconds
    )
    answers.check_syntax(answer)
    snippet = _snippet(path, answer.text, name or _model_name(answer.text, where), seconds)
    runs = schedule.run(
        [snippet], plan, on_event=on_event, environment="check", force=True, keep=lambda run: None
    )
    run = runs[snippet.name]
    if failure := answers.failure_of(answer, run):
        raise failure
    artifacts = {artifact.name: artifact for artifact in run.artifacts}
    findings, times, report = (artifacts.get(key) for key in ("findings", "times", "report"))
    if isinstance(findings, Table) and isinstance(times, Table) and isinstance(report, Report):
        return Judged(findings, times, report, run)
    raise LabError(where, "the process showed no findings", "let the file end by itself")


def _model_name(text: str, where: str) -> str:
    """The name of the model, where the reader gave none."""
    top = ast.parse(text).body
    names = {getattr(node, "name", "") for node in top}
    targets = (t for node in top if isinstance(node, ast.Assign) for t in node.targets)
    names |= {target.id for target in targets if isinstance(target, ast.Name)}
    for name in NAMES:
        if name in names:
            return name
    step = f"give the name of yours: tclab lab check capstone {where}:NAME"
    raise LabError(where, f"none of {', '.join(NAMES)} is in it", step)


def _snippet(path: Path, text: str, name: str, seconds: float) -> Snippet:
    order = json.dumps({"path": str(path.resolve()), "name": name})
    return Snippet(
        name=f"check/capstone_{os.getpid()}",
        path=path.resolve(),
        title=path.name,
        caption="",
        source=f"{text}\n{ORDER}{order}",
        timeout=seconds,
        memory=MEMORY,
        alone=True,
        place=path.name,
        runner="tclab.labs.capstone.run.run",
    )


def page(judged: Judged, title: str) -> str:
    """The findings as one HTML file that stands alone: verdicts, times, the report."""
    parts = [
        render.stamp(judged.run),
        tag("h2", esc("Findings")),
        render.html(judged.findings, render.Options("findings")),
        tag("h2", esc("Times")),
        render.html(judged.times, render.Options("times")),
        tag("h2", esc("The compile")),
        render.html(judged.report, render.Options("report")),
    ]
    return standalone.page(f"Findings: {title}", join(parts, NEWLINE))
