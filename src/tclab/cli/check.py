"""Define ``tclab check``: compare the user's functions, or a job, with their baselines."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path

import click
from rich.markup import escape

from tclab.cli import terminal
from tclab.cli.explaining import steps
from tclab.compare import baseline, page
from tclab.compare.config import CheckedFunction, read_config
from tclab.compare.summary import CompileSummary, summarize_report
from tclab.errors import BadRequest, ExplainError
from tclab.explain import ExplainRequest, Step
from tclab.jobs import open_job
from tclab.jobs.pairs import name_processes
from tclab.model import JobProcess, Problem, Report
from tclab.model.snapshots import NOTHING
from tclab.system import machine
from tclab.targets import TargetError
from tclab.upgrade.captures import explain_in_environment

#: The exit statuses.
# the command exits with the largest status of its functions
SAME, WRONG_USE, INCOMPLETE, WORSE = 0, 2, 3, 4
#: The level for jobs, because a trace has no registers to compare.
_JOB_LEVEL = "kernels"
# job.torch2.13.json, rank-1-6b86b273.torch2.13.json
_OF_A_PROCESS = re.compile(r"(?:job|rank)(?:-\d+-\w+)?\.torch")
_STATUS = {baseline.WORSE: WORSE, baseline.NO_FILE: INCOMPLETE}


@click.command(short_help="Whether your compiles are as they were.")
@click.argument("path", metavar="[FILE]", default="compiled.toml",
                type=click.Path(path_type=Path))  # fmt: skip
@click.option("--update", is_flag=True, help="Write the files that are compared with.")
@click.option("--strict", is_flag=True, help="What is better than its file counts as worse, too.")
@click.option("--against", metavar="DIR", type=click.Path(file_okay=False, path_type=Path),
              help="The folder of the files. Default: compiled, beside FILE.")  # fmt: skip
@click.option("--report", metavar="DIR", type=click.Path(file_okay=False, path_type=Path),
              help="Write a page of each function that is worse into this folder.")  # fmt: skip
@click.option("--seconds", type=click.FloatRange(min=1), default=1200.0, metavar="N",
              help="The most that one compile may take. Default: 1200.")  # fmt: skip
@click.pass_context
def check(
    context: click.Context, path: Path, update: bool, strict: bool, against: Path | None,
    report: Path | None, seconds: float,
) -> None:  # fmt: skip
    """Compile the functions that FILE lists, and compare each with its earlier compile: breaks,
    recompiles, graphs, kernels. A new one, or a larger number, is worse. FILE is TOML:

    \b
      [[function]]
      name = "model.py:Block"      as for tclab explain
      target = "h200"              or this machine
      backward = true
      inputs = ["f32[8,1024]"]
      level = "kernels"            or dynamo, graphs, machine

    The functions are looked for beside FILE. The folder compiled/ beside FILE has their earlier
    compiles, in a file for each function and version of PyTorch. If this version has no file, the
    file of the nearest older version is compared: differences are then due to PyTorch, so they are
    printed but do not count as worse. Only --update writes into the folder.

    FILE may also be what TORCH_TRACE wrote, a folder or a log: the compiles of each process are
    compared, and nothing is compiled.

    \b
    Ends with: 0 the same or better, 4 one is worse, 3 none is worse but one could not be compared
    (a function that does not compile, a file that is missing or damaged), 2 wrong use.

    \b
    Examples:
      tclab check --update
      tclab check compiled.toml --report out
      tclab check --against /tmp/base
      tclab check traces/ --against base     a job, by its traces
    """
    folder = against or path.parent / "compiled"
    try:
        if (path.is_dir() or path.is_file()) and path.suffix != ".toml":
            processes = dict(name_processes(open_job([path], snapshots=True)))
            statuses = [
                _compare(name, _JOB_LEVEL, _summarize(process), folder, update, strict, report)
                for name, process in processes.items()
            ]
            if not statuses:
                step = "name a folder that TORCH_TRACE wrote"
                raise BadRequest(str(path), "there is no compile to check", step)
            context.exit(max([*statuses, _print_missing_processes(folder, processes)]))
        functions = read_config(path)
        for each in functions:
            ExplainRequest.parse(each.name, **each.request)
        with steps.display_steps() as on_step:
            statuses = []
            for each in functions:
                on_step(Step(f"compiling {each.name}"))
                result = _explain_function(each, path.parent, seconds)
                statuses.append(_check_function(result, each, folder, update, strict, report))
    except (BadRequest, TargetError) as problem:
        terminal.print_error(problem)
        context.exit(WRONG_USE)
    context.exit(max(statuses))


def _explain_function(
    entry: CheckedFunction, folder: Path, seconds: float
) -> Report | Problem | None:
    """Return the report of one function, with paths relative to `folder`. If there is nothing to
    compare, return the Problem that is the reason.
    """
    torch = machine.torch_facts().get("__version__", "")
    try:
        request = {"spec": entry.name, "level": entry.level, **entry.request}
        result = explain_in_environment(sys.executable, request, torch, seconds, folder)
    except ExplainError as problem:
        return Problem.from_error(problem)
    if result.report and _is_incomplete(result.report, entry.level):
        return result.report.refusal or result.report.gaps[0]
    if result.report and result.report.snapshot.is_empty:
        return Problem(entry.name, NOTHING, "call it with tensors that it computes with")
    return result.failure or result.report


def _check_function(
    result: Report | Problem | None, entry: CheckedFunction, folder: Path, update: bool,
    strict: bool, pages: Path | None,
) -> int:  # fmt: skip
    """Compare one function with its baseline, print the differences, and return the exit status."""
    if not isinstance(result, Report):
        problem = _describe_problem(result) if result else []
        return _print_result(entry.name, INCOMPLETE, "not compared", problem)
    now = summarize_report(result)
    return _compare(entry.name, entry.level, now, folder, update, strict, pages)


def _print_missing_processes(folder: Path, processes: Mapping[str, JobProcess]) -> int:
    """Print the baseline files of processes that the job no longer has; return the exit status."""
    paths = [
        baseline.Baseline(folder, name, process.snapshot.torch).path
        for name, process in processes.items()
    ]
    versions = {path.name.rpartition(".torch")[2] for path in paths}
    missing = [
        path
        for path in sorted(folder.glob("*.torch*.json"))
        if _OF_A_PROCESS.match(path.name)
        and path not in paths
        and path.name.rpartition(".torch")[2] in versions
    ]
    lines = ["the job has no such process now", "next: if that is meant, remove the file"]
    return max(
        (_print_result(str(path), INCOMPLETE, "not compared", lines) for path in missing),
        default=SAME,
    )


def _summarize(process: JobProcess) -> CompileSummary:
    """Summarise the compiles of a process."""
    return CompileSummary(process.snapshot, process.breaks.breaks)


def _compare(
    name: str, level: str, now: CompileSummary, folder: Path, update: bool, strict: bool,
    pages: Path | None,
) -> int:  # fmt: skip
    """Compare what was compiled with its baseline, print the differences, and return the exit
    status.
    """
    if now.is_empty:
        return _print_result(name, INCOMPLETE, "not compared", [NOTHING])
    try:
        outcome = baseline.check_baseline(folder, name, now, level, update=update)
    except BadRequest as problem:
        described = _describe_problem(Problem.from_error(problem))
        return _print_result(name, INCOMPLETE, "not compared", described)
    if outcome.status == baseline.WRITTEN:
        return _print_result(name, SAME, f"written to {outcome.baseline.path}", [])
    lines, verdict, status = [*outcome.lines()], outcome.status, _STATUS.get(outcome.status, SAME)
    if outcome.status == baseline.NO_FILE:
        verdict = f"there is no {outcome.baseline.path}"
    if outcome.status == baseline.BETTER and strict:
        verdict, status = "better, and --strict", WORSE
    if status == WORSE and pages:
        lines.append(f"report: {page.write_outcome(pages, outcome)}")
    if step := outcome.next_step("--update"):
        lines.append(f"next: {step}")
    return _print_result(name, status, verdict, lines)


def _describe_problem(problem: Problem) -> list[str]:
    step = [f"next: {problem.next_step}"] if problem.next_step else []
    return [f"{problem.place}: {problem.cause}", *step]


def _print_result(name: str, status: int, verdict: str, lines: list[str]) -> int:
    out = terminal.console()
    out.print(f"[bold]{escape(name)}[/]: {escape(verdict)}", soft_wrap=True)
    for line in lines:
        out.print(f"  {escape(line)}", soft_wrap=True)
    return status


def _is_incomplete(report: Report, level: str) -> bool:
    """Return whether the report lacks a part that the level compares."""
    return bool(report.refusal or report.gaps) and level in ("kernels", "machine")
