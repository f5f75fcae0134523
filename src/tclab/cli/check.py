"""``tclab check``: functions of one's own held to what their compiles were."""

from __future__ import annotations

import sys
from pathlib import Path

import click
from rich.markup import escape

from tclab import machine, terminal
from tclab.baseline import files, listed, page, words
from tclab.baseline.listed import Listed
from tclab.baseline.verdict import Verdict, judge
from tclab.cli.explaining import steps
from tclab.errors import BadRequest, ExplainError
from tclab.explain import ExplainRequest, Step
from tclab.model import Report
from tclab.targets import TargetError
from tclab.upgrade.captures import capture

#: What the command ends with.
SAME, WRONG_USE, INCOMPLETE, WORSE = 0, 2, 3, 4


@click.command(short_help="Whether your compiles are as they were.")
@click.argument("path", metavar="[FILE]", default="compiled.toml",
                type=click.Path(dir_okay=False, path_type=Path))  # fmt: skip
@click.option("--update", is_flag=True, help="Write the files that are compared with.")
@click.option("--strict", is_flag=True, help="What is better than its file counts as worse, too.")
@click.option("--report", metavar="DIR", type=click.Path(file_okay=False, path_type=Path),
              help="Write a page of each function that is worse into this folder.")  # fmt: skip
@click.option("--seconds", type=click.FloatRange(min=1), default=1200.0, metavar="N",
              help="The most that one compile may take. Default: 1200.")  # fmt: skip
@click.pass_context
def check(
    context: click.Context, path: Path, update: bool, strict: bool, report: Path | None,
    seconds: float,
) -> None:  # fmt: skip
    """Compile the functions that FILE lists, and compare each with what it was: breaks,
    recompiles, graphs, kernels. Worse is a new one, or a larger number. FILE is TOML:

    \b
      [[function]]
      name = "model.py:Block"      as for tclab explain
      target = "h200"              or this machine
      backward = true
      inputs = ["f32[8,1024]"]
      level = "kernels"            or dynamo, graphs, machine

    What they were is kept beside it in compiled/, a file for each function and version of
    PyTorch. Where this version has none, the nearest older one is compared, and what differs is
    PyTorch's doing, which is said and not counted. Only --update writes there.

    \b
    Ends with: 0 the same or better, 4 worse, 3 something could not be compared (a function that
    does not compile, a file that is not there), 2 wrong use.

    \b
    Examples:
      tclab check --update
      tclab check compiled.toml --report out
    """
    try:
        functions = listed.read(path)
        for each in functions:
            ExplainRequest.parse(each.name, **each.request)
        with steps.displayed() as on_step:
            ends = []
            for each in functions:
                on_step(Step(f"compiling {each.name}"))
                checked = _Check(each, path.parent / "compiled", strict, report)
                ends.append(checked.end(update=update, seconds=seconds))
    except (BadRequest, TargetError) as problem:
        terminal.error(problem)
        context.exit(WRONG_USE)
    context.exit(INCOMPLETE if INCOMPLETE in ends else max(ends))


class _Check:
    """One function and its file."""

    def __init__(self, of: Listed, folder: Path, strict: bool, report: Path | None) -> None:
        self.of, self.folder, self.strict, self.report = of, folder, strict, report

    def end(self, *, update: bool, seconds: float) -> int:
        """Compile it, compare it, and say what differs; what it means for the whole."""
        words_ = {"spec": self.of.name, **self.of.request}
        torch = machine.torch_facts().get("__version__", "")
        try:
            made = capture(sys.executable, words_, torch, seconds)
        except ExplainError as problem:
            return self._say(INCOMPLETE, "not compared", [str(problem)])
        if made.failure or made.report is None or _lacks(made.report, self.of.level):
            gap = made.failure or (made.report and made.report.refusal)
            return self._say(
                INCOMPLETE, "not compared", [f"{gap.place}: {gap.cause}"] if gap else []
            )
        was = made.report.snapshot
        baseline = files.Baseline(self.folder, self.of.name, was.torch)
        nearest = baseline.nearest()
        verdict = judge(files.read(nearest), was, self.of.level) if nearest else None
        if update:
            if verdict is None or not verdict.same or nearest != baseline.path:
                baseline.write(was)
                return self._say(SAME, f"written to {baseline.path}", [])
            return self._say(SAME, "the same", [])
        if verdict is None:
            return self._say(
                INCOMPLETE, f"there is no {baseline.path}", ["next: --update writes it"]
            )
        return self._judged(verdict, by_torch=nearest != baseline.path)

    def _judged(self, verdict: Verdict, *, by_torch: bool) -> int:
        if verdict.same:
            return self._say(SAME, "the same", [])
        if by_torch:
            lines = [*words.by_cause(verdict.comparison)]
            rest = (*verdict.worse, *verdict.better)
            return self._say(SAME, "changed by PyTorch", [*lines, *words.changes(rest)])
        better = [f"better: {line}" for line in words.changes(verdict.better)]
        if not verdict.worse and not self.strict:
            return self._say(SAME, "better", [*better, "next: --update keeps it so"])
        if self.report:
            path = self.report / f"{files.plain(self.of.name)}.html"
            page.write(path, self.of.name, verdict)
            better.append(f"report: {path}")
        judged = "worse" if verdict.worse else "better, and --strict"
        return self._say(WORSE, judged, [*words.changes(verdict.worse), *better])

    def _say(self, end: int, verdict: str, lines: list[str]) -> int:
        out = terminal.console()
        out.print(f"[bold]{escape(self.of.name)}[/]: {escape(verdict)}", soft_wrap=True)
        for line in lines:
            out.print(f"  {escape(line)}", soft_wrap=True)
        return end


def _lacks(report: Report, level: str) -> bool:
    """Whether what the level compares is not all there."""
    return bool(report.refusal or report.gaps) and level in ("kernels", "machine")
