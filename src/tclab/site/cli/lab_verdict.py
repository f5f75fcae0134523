"""Print the result of a check in a terminal. This module needs rich."""

from __future__ import annotations

from collections.abc import Iterator

from rich.markup import escape

from tclab.cli import terminal
from tclab.site import run_views
from tclab.site.labs.check import CheckResult
from tclab.site.labs.progress import Progress
from tclab.site.labs.source import Lab
from tclab.site.labs.verdict import Verdict

_HOLDS, _FAILS = "[green]✓[/]", "[red]✗[/]"
_STATE_WORDS = {"untouched": "not begun", "absent": "missing", "lacking": "cannot be judged here"}


def print_result(lab: Lab, result: CheckResult, progress: Progress | None) -> None:
    """Print each exercise with its steps; with `progress`, also a hint for an unsolved one."""
    out = terminal.console()
    out.print(f"[bold]Lab {lab.number} · {escape(lab.title)}[/]")
    for verdict in result.verdicts:
        for line in _verdict_lines(verdict):
            out.print(line, soft_wrap=True)
    if result.failure is not None:
        terminal.print_error(result.failure)
    offer = " A hint: --hint" if progress is None else ""
    out.print(_summarize(result, offer), soft_wrap=True)
    if progress is not None:
        out.print(escape(_hint_text(lab, result, progress)), soft_wrap=True)


def _verdict_lines(verdict: Verdict) -> Iterator[str]:
    mark = _HOLDS if verdict.passed else _FAILS
    name = f"[bold]{escape(verdict.exercise)}[/]  {escape(verdict.title)}"
    if verdict.why:
        word = _STATE_WORDS.get(verdict.state, verdict.state)
        yield f"- {name}: {word}: {escape(verdict.why)}"
        return
    yield f"{mark} {name}"
    for step in verdict.steps:
        why = f": {step.why}" if step.why else ""
        yield f"    {_HOLDS if step.holds else _FAILS} {escape(step.says)}{escape(why)}"


def _summarize(result: CheckResult, offer: str) -> str:
    passed = sum(verdict.passed for verdict in result.verdicts)
    every = len(result.verdicts)
    if every and all(v.state == "untouched" for v in result.verdicts):
        first = result.verdicts[0]
        return f"Nothing is solved yet. Begin with {first.exercise}: {first.title}."
    if result.passed:
        return f"{run_views.style_state('ok')} all of {terminal.plural(every, 'exercise')} passed."
    return f"{passed} of {terminal.plural(every, 'exercise')} passed.{offer}"


def _hint_text(lab: Lab, result: CheckResult, progress: Progress) -> str:
    for verdict in result.verdicts:
        if verdict.state == "failed" and (text := progress.next_hint(lab.name, verdict)):
            return f"{verdict.exercise}: {text}"
    unwritten = next((v for v in result.verdicts if v.state in ("untouched", "absent")), None)
    if unwritten is None:
        return ""
    return f"{unwritten.exercise}: write it first; its task stands above it"
