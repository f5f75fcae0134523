"""Define ``tclab lab``: hand out exercises, and check the answers."""

from __future__ import annotations

import os
from pathlib import Path

import click

from tclab import render
from tclab.cli import EXIT_STATUS, output_file, terminal
from tclab.errors import BadRequest
from tclab.site import run_views
from tclab.site.cli import lab_verdict
from tclab.site.cli.project import Project, open_project, print_results_at_end
from tclab.site.engine import schedule
from tclab.site.engine.plan import Plan
from tclab.site.labs import check as checking
from tclab.site.labs import handout, source
from tclab.site.labs.capstone import check as capstone
from tclab.site.labs.judge import load_exercises
from tclab.site.labs.progress import Progress
from tclab.site.labs.source import Lab
from tclab.site.store.local_runs import Store
from tclab.system import machine, paths
from tclab.system.project import NoProject

FOLDER = click.Path(file_okay=False, path_type=Path)


@click.group(short_help="Learn by doing: exercises, checked.")
def lab() -> None:
    """Work through the labs of the site with your own hands.

    \b
    Examples:
      tclab lab list                      the labs, and what you have passed
      tclab lab start 1                   the exercise, as lab1_….py and .ipynb
      tclab lab check 1 lab1_backends.py  what holds, what does not
      tclab lab check 1 FILE --hint       and a hint; each time it says a little more
      tclab lab check capstone my_model.py your own model; its findings as one page
      tclab lab run all                   the solved labs on this machine
    """


@lab.command("list", short_help="The labs, and what you have passed.")
@click.argument("folder", type=FOLDER, default=Path())
@click.pass_context
def list_(context: click.Context, folder: Path) -> None:
    """The labs, their exercises, and those passed by the answers in FOLDER (default: here)."""
    progress = Progress.read(folder)
    table = terminal.plain_table("lab", "title", "exercise", "what it is", "state")
    for column in (table.columns[1], table.columns[3]):
        column.no_wrap = False  # names, in the other columns, do not wrap in a narrow terminal
    for one in source.find(_open_project(context).root):
        passed = progress.passed.get(one.name, [])
        for number, exercise in enumerate(load_exercises(one.name)):
            state = run_views.style_state("ok") + " passed" if exercise.name in passed else "-"
            named = (str(one.number), one.title) if number == 0 else ("", "")
            table.add_row(*named, exercise.name, exercise.title, state)
    terminal.console().print(table)


@lab.command(short_help="Get an exercise.")
@click.argument("number", type=int)
@click.argument("folder", type=FOLDER, default=Path())
@click.pass_context
def start(context: click.Context, number: int, folder: Path) -> None:
    """Write the exercise of lab NUMBER into FOLDER (default: here), as .py and as .ipynb.

    Both hold the same; work in one of them. Nothing is ever overwritten.
    """
    one = source.get(_open_project(context).root, number)
    paths = handout.write(one, folder)
    for path in paths:
        terminal.console().print(str(path), soft_wrap=True)
    terminal.print_note(f"next: solve one exercise, then tclab lab check {number} {paths[0]}")


@lab.command(epilog=EXIT_STATUS, short_help="Check your answers.")
@click.argument("which", metavar="NUMBER|capstone")
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("exercises", nargs=-1)
@click.option("--hint", is_flag=True, help="Say what to look at; each time a little more.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=1),
    default=checking.SECONDS,
    metavar="S",
    help=f"Seconds your file may run. Default: {checking.SECONDS:g}.",
)
@click.pass_context
def check(
    context: click.Context,
    which: str,
    file: Path,
    exercises: tuple[str, ...],
    hint: bool,
    timeout: float,
) -> None:
    """Judge the answers in FILE, a .py or an .ipynb; with EXERCISES only these.

    FILE runs in a process of its own, with limits on time and memory, and is never changed.
    The capstone looks at a model of your own: FILE.py (or FILE.py:NAME) with `model` and
    example_inputs(), as for tclab explain; the findings go to FILE-findings.html in this folder.
    """
    here = _open_project(context)
    if which == "capstone":
        context.exit(_judge_model(str(file), here.plan, timeout))
    one = source.get(here.root, _parse_number(which))
    answer = checking.read(file, one, only=_check_names(one, exercises), seconds=timeout)
    terminal.print_note(f"checking {answer.place} …")
    (checked,) = checking.check([answer], here.plan)
    progress = Progress.read(answer.folder)
    progress.update(one.name, checked.verdicts)
    lab_verdict.print_result(one, checked, progress if hint else None)
    if not progress.save():
        terminal.print_note(f"{progress.path} cannot be written: what you passed is not kept")
    if not checked.passed:
        context.exit(1)


def _open_project(context: click.Context) -> Project:
    """Return the project. Outside of a project, return the labs in the wheel, with a store in the
    user's cache.
    """
    try:
        return open_project(context)
    except NoProject:
        named = context.find_root().params["root"] or os.environ.get("TCLAB_ROOT")
        if named or not source.SHIPPED.is_dir():
            raise
        return Project(source.SHIPPED, Store(paths.user_cache_folder() / "tclab"))


def _judge_model(spec: str, plan: Plan, seconds: float) -> int:
    """Judge a model, print the findings and write their page; return the exit status."""
    terminal.print_note(f"looking at {spec}: a compile, its results, its times …")
    judged = capstone.judge(spec, plan, seconds=max(seconds, capstone.SECONDS))
    terminal.console().print(render.text(judged.findings), markup=False, soft_wrap=True)
    path = Path(f"{Path(spec.partition(':')[0]).stem}-findings.html")
    page = capstone.page(judged, spec)
    output_file.replace_file(path, page, str(path), "run it in a folder that is yours")
    terminal.console().print(f"the findings are in {path}", soft_wrap=True)
    return 0 if judged.passed else 1


def _parse_number(which: str) -> int:
    if which.isdigit():
        return int(which)
    raise BadRequest(f"lab {which}", "a lab has a number", "tclab lab list shows them")


def _check_names(lab: Lab, exercises: tuple[str, ...]) -> tuple[str, ...]:
    """Return `exercises` unchanged. Raises BadRequest if one of them is not in the lab."""
    names = [exercise.name for exercise in load_exercises(lab.name)]
    for name in exercises:
        if name not in names:
            raise BadRequest(
                name, f"lab {lab.number} has no such exercise", f"it has: {', '.join(names)}"
            )
    return exercises


@lab.command(short_help="Run the solved labs.")
@click.argument("which", metavar="[all|NUMBER]", default="all")
@click.pass_context
def run(context: click.Context, which: str) -> None:
    """Run the solved labs on this machine, its GPU where there is one, and sum up."""
    here = _open_project(context)
    labs = (
        source.find(here.root) if which == "all" else [source.get(here.root, _parse_number(which))]
    )
    snippets = [one.snippet for one in labs]
    with run_views.progress(len(snippets)) as on_event, print_results_at_end() as runs:
        runs.update(schedule.run(snippets, here.plan, on_event=on_event, force=True))
    lacking = set[str]().union(*map(machine.missing_needs, snippets))
    for need in sorted(lacking):
        terminal.print_note(f"needs {need}: {machine.describe_need(need)}")
    if lacking or any(not run.ok for run in runs.values()):
        context.exit(1)
