"""Judge a reader's model in a process of its own, and write the findings as one page."""

from __future__ import annotations

import ast
import json
import os
from dataclasses import dataclass
from pathlib import Path

from tclab import render
from tclab.errors import LabError
from tclab.model import Report, Run, Snippet, Table
from tclab.render import standalone
from tclab.render.escape import NEWLINE, esc, join, tag
from tclab.site.engine import schedule
from tclab.site.engine.events import OnEvent, ignore_event
from tclab.site.engine.plan import Plan
from tclab.site.labs import check as answers
from tclab.site.labs.capstone.findings import REQUEST_MARK
from tclab.system import machine

#: Limits of the process that judges a reader's model: seconds, and MiB of memory.
SECONDS, MEMORY = 600.0, 8192

#: Names under which a reader's model is found if the command gives no name.
NAMES = ("model", "Model", "make_model")


@dataclass(frozen=True)
class CapstoneResult:
    """The findings, times and report of a reader's model, and the run that made them."""

    findings: Table
    times: Table
    report: Report
    run: Run

    @property
    def passed(self) -> bool:
        return all(row[1] == "yes" for row in self.findings.rows)


def judge(
    spec: str, plan: Plan, *, seconds: float = SECONDS, on_event: OnEvent = ignore_event
) -> CapstoneResult:
    """Judge the model in ``FILE.py`` or ``FILE.py:NAME``. Raises LabError if the model cannot be
    judged.
    """
    machine.check_torch()
    where, _, name = spec.partition(":")
    path = Path(where)
    if not path.is_file():
        raise LabError(where, "there is no such file", "write it: a model, and example_inputs()")
    answer = answers.Answer(
        "capstone", path.name, answers.read_text(path), path.resolve().parent, (), seconds
    )
    answers.check_syntax(answer)
    snippet = _make_snippet(path, answer.text, name or _model_name(answer.text, where), seconds)
    runs = schedule.run(
        [snippet], plan, on_event=on_event, environment="check", force=True, keep=lambda run: None
    )
    run = runs[snippet.name]
    if failure := answers.explain_failure(answer, run):
        raise failure
    artifacts = {artifact.name: artifact for artifact in run.artifacts}
    findings, times, report = (artifacts.get(key) for key in ("findings", "times", "report"))
    if isinstance(findings, Table) and isinstance(times, Table) and isinstance(report, Report):
        return CapstoneResult(findings, times, report, run)
    raise LabError(where, "the process showed no findings", "let the file end by itself")


def _model_name(text: str, place: str) -> str:
    """Return a name of `NAMES` that the text defines. Raises LabError if it defines none."""
    top = ast.parse(text).body
    names = {getattr(node, "name", "") for node in top}
    targets = (t for node in top if isinstance(node, ast.Assign) for t in node.targets)
    names |= {target.id for target in targets if isinstance(target, ast.Name)}
    for name in NAMES:
        if name in names:
            return name
    step = f"give the name of yours: tclab lab check capstone {place}:NAME"
    raise LabError(place, f"none of {', '.join(NAMES)} is in it", step)


def _make_snippet(path: Path, text: str, name: str, seconds: float) -> Snippet:
    request = json.dumps({"path": str(path.resolve()), "name": name})
    return Snippet(
        name=f"check/capstone_{os.getpid()}",
        path=path.resolve(),
        title=path.name,
        caption="",
        source=f"{text}\n{REQUEST_MARK}{request}",
        timeout=seconds,
        memory=MEMORY,
        alone=True,
        place=path.name,
        runner="tclab.site.labs.capstone.run.run",
    )


def page(result: CapstoneResult, title: str) -> str:
    """Return the findings, times and report as one self-contained HTML file."""
    parts = [
        render.stamp(result.run),
        tag("h2", esc("Findings")),
        render.html(result.findings, render.Options("findings")),
        tag("h2", esc("Times")),
        render.html(result.times, render.Options("times")),
        tag("h2", esc("The compile")),
        render.html(result.report, render.Options("report")),
    ]
    return standalone.page(f"Findings: {title}", join(parts, NEWLINE))
