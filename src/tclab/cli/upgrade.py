"""Define ``tclab upgrade``: compare the compiles of a function under two PyTorches."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from rich.markup import escape
from rich.table import Table as Drawn

from tclab.cli import output_file, terminal
from tclab.cli.explaining import steps
from tclab.cli.explaining.command import explain
from tclab.compare.config import REQUEST_OPTIONS
from tclab.errors import BadRequest
from tclab.explain import OnStep, Step, load
from tclab.model import Table, Version
from tclab.render.kinds.table import cell_texts, numeric_columns
from tclab.system import machine
from tclab.targets import TargetError, get
from tclab.upgrade import environments, page, presentation
from tclab.upgrade.captures import ExplainResult, explain_in_environment
from tclab.upgrade.environments import Build, EnvironmentMaker
from tclab.upgrade.stages import Side, Upgrade, exit_status

#: The most rows of a table to print; the report has them all.
_MOST_ROWS = 12
_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command(short_help="What another PyTorch makes of your function.")
@click.argument("specs", metavar="[FILE.py:NAME]...", nargs=-1)
@click.option(
    "--names",
    "listed",
    type=click.File(encoding="utf-8"),
    metavar="PATH",
    help="A file with one more FILE.py:NAME in each line.",
)
@click.option(
    "--to",
    "to",
    metavar="PYTORCH",
    help="The PyTorch to come: 2.15.0, 2.16.0rc1, nightly, or the path or URL of a wheel.",
)
@click.option(
    "--from",
    "from_",
    metavar="PYTORCH",
    help="The one before, said as for --to. Default: that of this Python.",
)
@click.option(
    "--python",
    "pythons",
    metavar="PATH",
    multiple=True,
    help="A Python that has one of the two, instead of an environment made for it.",
)
@click.option(
    "--with",
    "packages",
    metavar="PACKAGE",
    multiple=True,
    help="What your file imports, for environments that are made: einops, timm==1.0.31 …",
)
@click.option(
    "--index-url",
    "--index",
    "index",
    default="",
    metavar="URL",
    help="Where PyTorch is taken from. Builds of "
    "https://download.pytorch.org/whl/cpu are far smaller, and do for a --target.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=1),
    default=1200.0,
    metavar="N",
    help="The most that one compile may take. Default: 1200.",
)
@click.option(
    "--rounds",
    type=click.IntRange(min=1),
    default=1,
    metavar="N",
    help="Compile N times under each, in turns, and show the seconds as a ratio. Default: 1, "
    "which shows none.",
)
@click.option(
    "--report-only-worse",
    "only_worse",
    is_flag=True,
    help="Leave out names of which nothing got worse: no break, recompile, memory or "
    "spill more, and no number that can move. The status is that of the others.",
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["html", "json"]),
    default="html",
    help="Of the report. Default: html.",
)
@click.option(
    "-o",
    "--output",
    type=_FILE,
    metavar="PATH",
    help="Where to write. Default: upgrade-X.Y.Z.html here; JSON goes to stdout.",
)
@click.pass_context
def upgrade(context: click.Context, /, **asked: Any) -> None:
    """Compile functions of your own under two PyTorches, and say what differs and why.

    Each compile runs in a process of its own, with the Python of its PyTorch. Without --python, an
    environment is made in your cache and kept there; its size is printed before, and your own
    environment is not touched. Stages are compared from the top; kernels that differ are grouped
    by cause, with what it can change, and one pair side by side. With --rounds, seconds of
    compiling are compared, and with --measure the times of calls; they affect neither the verdict
    nor the status.

    \b
    Ends with: 0 the same, 4 something differs (also where only one of them compiles it),
    3 something was not compared, 2 wrong use, 1 no such environment or function.

    \b
    Examples:
      tclab upgrade model.py:Block --to 2.15.0 --target h200 --backward
      tclab upgrade model.py:Block --from 2.11.0 --to 2.13.0 --with einops
      tclab upgrade model.py:f model.py:g --to 2.15.0 --python ~/new/bin/python
      tclab upgrade model.py:f --to nightly
      tclab upgrade model.py:f --to dist/torch-2.16.0a0-cp311-cp311-linux_x86_64.whl
      tclab upgrade --names names.txt --to 2.15.0 --report-only-worse --format json
    """
    try:
        context.exit(exit_status(_compare_all(**asked)))
    except (BadRequest, TargetError) as problem:
        terminal.print_error(problem)
        context.exit(2)


# Add the options of tclab explain that a compile depends on, and the one that times its calls.
upgrade.params += [
    each for each in explain.params if each.name in (*REQUEST_OPTIONS, "measure", "measure_seconds")
]


def _compare_all(*, specs: tuple[str, ...], listed: Sequence[str] | None, to: str | None,
              from_: str | None, pythons: tuple[str, ...], packages: tuple[str, ...], index: str,
              seconds: float, rounds: int, only_worse: bool, format_: str, output: Path | None,
              **request: Any) -> list[Upgrade]:  # fmt: skip
    """Compare every function under both PyTorches; write the report, and print the summary."""
    lines = (line.partition("#")[0].strip() for line in listed or ())
    every = list(dict.fromkeys([*specs, *filter(None, lines)]))
    _check(every, request["target"])
    named = {environments.find_torch_version(python): python for python in pythons}
    builds = _choose_builds(from_, to, named)
    if output is None and format_ == "html":
        output = Path(f"upgrade-{builds[1].version}.html")
    path = output_file.require_writable(output) if output else None
    maker = EnvironmentMaker(packages, index)
    with steps.display_steps() as on_step:
        sides = [find_python(build, named, maker, on_step) for build in builds]
        found = [_compare_one(spec, sides, request, seconds, rounds, on_step) for spec in every]
    shown = [each for each in found if each.is_worse or not only_worse]
    output_file.write_text((page.render_page if format_ == "html" else page.to_json)(shown), path)
    _print(shown, path)
    return shown


def _check(specs: list[str], target: str | None) -> None:
    """Raise BadRequest or TargetError for a wrong request, before any environment is made."""
    if not specs:
        raise BadRequest("upgrade", "no function is named", "name one: tclab upgrade FILE.py:NAME")
    for spec in specs:
        load.split(spec)
    if target:
        get(target)


def _own_torch() -> str:
    return Version.parse(machine.torch_facts().get("__version__", "")).public


def _choose_builds(
    from_: str | None, to: str | None, pythons: dict[str, str]
) -> tuple[Build, Build]:
    """Return the earlier and the later PyTorch. The default of --from is this Python's PyTorch; the
    default of --to is the PyTorch of --python.
    """
    own = _own_torch()
    before = environments.parse_build("--from", from_) if from_ else Build(own, f"torch=={own}")
    others = [torch for torch in pythons if torch != before.version]
    if not before.version:
        raise BadRequest("--from", "this Python has no PyTorch", "say which: --from 2.13.0")
    if not to and len(others) != 1:
        raise BadRequest("--to", "the PyTorch to come is not named", "say which: --to 2.15.0")
    after = environments.parse_build("--to", to or others[0])
    if before == after:
        place = f"--to {after.version}"
        raise BadRequest(place, "that is the one before, too", "name another --from")
    return before, after


def find_python(
    build: Build, pythons: dict[str, str], maker: EnvironmentMaker, on_step: OnStep
) -> tuple[str, str]:
    """Return the version of a build of PyTorch, and a Python that has this build: one given by
    --python, this Python, or one in a new environment.
    """
    known = {_own_torch(): sys.executable, **pythons} if build.is_named_by_version else {}
    if build.version in known:
        return build.version, known[build.version]
    if not maker.is_complete(build):
        folder = maker.folder(build)
        size = f" ({environments.DOWNLOAD_SIZE})" if not (maker.index or build.key) else ""
        terminal.print_note(f"PyTorch {build.version} gets an environment in {folder}{size}")
    python = maker.provide_python(build, on_step)
    return environments.find_torch_version(python), python


def _compare_one(spec: str, sides: list[tuple[str, str]], request: dict[str, Any], seconds: float,
         rounds: int, on_step: OnStep) -> Upgrade:  # fmt: skip
    """Compile a function on both sides, and several times for their seconds if `rounds` is above 1;
    stop when a side does not compile.
    """

    def both(**more: bool | None) -> list[ExplainResult]:
        words = {"spec": spec, **request, **more}
        found = []
        for torch, python in sides:
            on_step(Step(f"compiling {spec} under PyTorch {torch}"))
            found.append(explain_in_environment(python, words, torch, seconds))
        return found

    each = first = both()
    took: list[list[float]] = []
    while rounds > 1 and len(took) < rounds and all(one.report for one in each):
        took.append([one.report.compile_time.seconds for one in each if one.report])
        each = both(measure=False, measure_seconds=None) if len(took) < rounds else each
    return Upgrade(spec, *(
        Side(torch, one, tuple(row[at] for row in took))
        for at, ((torch, _), one) in enumerate(zip(sides, first))
    ))  # fmt: skip


def _print(upgrades: list[Upgrade], path: Path | None) -> None:
    """Print verdict, problems and tables. Print them on stderr if stdout gets the report."""
    out = terminal.console(stderr=path is None)
    for each in upgrades:
        for line in (presentation.upgrade_title(each), presentation.summarize_verdict(each)):
            out.print(f"[bold]{escape(line)}[/]", soft_wrap=True)
        for line in presentation.list_findings(each):
            out.print(escape(line), soft_wrap=True)
        for said, step in presentation.list_problems(each):
            out.print(f"[yellow]{escape(said)}[/]\n  next: {escape(step)}", soft_wrap=True)
        for table in presentation.list_tables(each):
            out.print("", _draw_table(table), sep="\n")
            if len(table.rows) > _MOST_ROWS:
                out.print(f"… and {len(table.rows) - _MOST_ROWS} more in the report")
    if path is not None:
        out.print(f"[green]wrote[/] {escape(str(path))}", soft_wrap=True)


def _draw_table(table: Table) -> Drawn:
    drawn = terminal.plain_table()
    drawn.title, drawn.title_justify, drawn.title_style = table.title, "left", "bold"
    for name, right in zip(table.columns, numeric_columns(table)):
        drawn.add_column(name, justify="right" if right else "left", overflow="fold")
    for row in cell_texts(table)[:_MOST_ROWS]:
        drawn.add_row(*map(escape, row))
    return drawn
