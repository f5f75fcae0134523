"""``tclab diff``: two reports of ``tclab explain``, stage beside stage."""

from __future__ import annotations

import sys
import webbrowser
from itertools import zip_longest
from pathlib import Path

import click

from tclab import render, terminal
from tclab.cli.report_file import replace_file
from tclab.errors import BadRequest
from tclab.explain import Report
from tclab.model import Chain, Diff
from tclab.render import standalone
from tclab.render.escape import join
from tclab.store import former


@click.command(short_help="Two reports of explain, side by side.")
@click.argument("left", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("right", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), metavar="PATH",
              help="Write one HTML file. Default: text, to stdout.")  # fmt: skip
@click.option("--open", "open_", is_flag=True, help="Show the HTML file in a browser.")
@click.pass_context
def diff(context: click.Context, left: Path, right: Path, output: Path | None, open_: bool) -> None:
    """Compare what was made of a function twice: for two targets, by two PyTorch versions, or
    before and after an edit. LEFT and RIGHT are JSON reports.

    \b
    Examples:
      tclab explain model.py:f --target h200 --format json -o h200.json
      tclab explain model.py:f --target a100 --format json -o a100.json
      tclab diff h200.json a100.json -o diff.html --open
    """
    try:
        if open_ and output is None:
            raise BadRequest("--open", "there is no file to show", "say --output PATH.html, too")
        reports = read(left), read(right)
    except BadRequest as problem:
        terminal.error(problem)
        context.exit(2)
    names = labels((left, right), reports)
    compared = list(diffs(reports, names))
    if output is None:
        sys.stdout.write("\n\n".join(map(render.text, compared)) + "\n")
        return
    body = join(map(render.figure, compared))
    replace_file(output, standalone.page(title(names), body))
    if open_:
        webbrowser.open(output.resolve().as_uri())


def read(path: Path) -> Report:
    """The report in a file. BadRequest where there is none."""
    try:
        return former.report(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise BadRequest(
            str(path),
            f"not a report: {error}",
            "make one with tclab explain FILE.py:NAME --format json -o PATH",
        ) from error


def labels(paths: tuple[Path, Path], reports: tuple[Report, Report]) -> tuple[str, str]:
    """What tells the two apart: target, PyTorch, or else the names of the files."""
    names = [
        ", ".join([r.title, r.target or "this machine", f"PyTorch {_torch(r)}"]) for r in reports
    ]
    if names[0] == names[1]:
        return str(paths[0]), str(paths[1])
    return names[0], names[1]


def title(names: tuple[str, str]) -> str:
    """What both are of, then what tells them apart: ``model.py:f: NVIDIA H200 and Tesla T4``."""
    left, right = (name.split(", ") for name in names)
    if len(left) != len(right) or len(left) == 1:
        return " and ".join(Path(name).name for name in names)
    differing = [(one, two) for one, two in zip(left, right) if one != two]
    sides = " and ".join(", ".join(side) for side in zip(*differing))
    return f"{left[0]}: {sides}" if left[0] == right[0] else sides


def _torch(report: Report) -> str:
    return report.provenance.torch if report.provenance else "unknown"


def diffs(reports: tuple[Report, Report], names: tuple[str, str]) -> list[Diff]:
    """The chains of both reports in order, the first with the first."""
    chains = zip_longest(*(report.chains for report in reports), fillvalue=Chain())
    return [
        Diff(left.title or right.title, f"graph-{number}", names, left.panes, right.panes)
        for number, (left, right) in enumerate(chains)
    ]
