"""Define ``tclab diff``: compare two reports of ``tclab explain`` stage by stage."""

from __future__ import annotations

import sys
import webbrowser
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path

import click

from tclab import render
from tclab.cli import terminal
from tclab.cli.report_file import replace_file
from tclab.compare.changes import Comparison, compare_snapshots
from tclab.compare.identity import clean_guards
from tclab.compare.words import tabulate_changes
from tclab.errors import BadRequest
from tclab.explain import Report
from tclab.model import Artifact, Chain, Diff, Table
from tclab.model.codec import UNREADABLE
from tclab.model.snapshots import NOTHING
from tclab.render import standalone
from tclab.render.escape import join


@click.command(short_help="Two reports of explain, side by side.")
@click.argument("left", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("right", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), metavar="PATH",
              help="Write one HTML file. Default: text, to stdout.")  # fmt: skip
@click.option("--open", "open_", is_flag=True, help="Show the HTML file in a browser.")
@click.pass_context
def diff(context: click.Context, left: Path, right: Path, output: Path | None, open_: bool) -> None:
    """Compare what was made of a function twice: for two targets, by two PyTorch versions, or
    before and after an edit. LEFT and RIGHT are JSON reports. What differs comes first: breaks,
    kernels by what they compute, memory; names and hashes do not count.

    \b
    Ends with: 0 the same, 4 something differs, 3 a report is incomplete, 2 wrong use.

    \b
    Examples:
      tclab explain model.py:f --target h200 --format json -o h200.json
      tclab explain model.py:f --target a100 --format json -o a100.json
      tclab diff h200.json a100.json -o diff.html --open
    """
    try:
        if open_ and output is None:
            raise BadRequest("--open", "there is no file to show", "say --output PATH.html, too")
        reports = read_report(left), read_report(right)
    except BadRequest as problem:
        terminal.print_error(problem)
        context.exit(2)
    for path, report in zip((left, right), reports):
        if report.snapshot.torch and report.snapshot.is_empty:
            terminal.print_note(f"{path}: {NOTHING}")
    names = side_labels((left, right), reports)
    comparison = compare_snapshots(*(report.snapshot for report in reports))
    compared: list[Artifact] = list(pair_chains(reports, names))
    if _have_snapshots(reports):
        compared.insert(0, tabulate_differences(comparison))
    if output is None:
        sys.stdout.write("\n\n".join(map(render.text, compared)) + "\n")
    else:
        replace_file(
            output,
            standalone.page(title((left, right), reports), join(map(render.figure, compared))),
        )
        if open_:
            webbrowser.open(output.resolve().as_uri())
    context.exit(status(reports, comparison))


def status(reports: tuple[Report, Report], comparison: Comparison) -> int:
    """Return the exit status: 3 if a report is incomplete, 0 if the reports are the same, 4 if
    something differs.
    """
    if not _have_snapshots(reports) or not all(report.complete for report in reports):
        return 3
    return 0 if comparison.same else 4


def _have_snapshots(reports: tuple[Report, Report]) -> bool:
    """Return whether both reports have identities to compare. Reports of an earlier tclab have only
    stages, and two empty reports are equal for no good reason.
    """
    return all(r.snapshot.torch and not r.snapshot.is_empty for r in reports)


def tabulate_differences(comparison: Comparison) -> Table:
    """Return a table of the differences, in the order of a compile."""
    levels = ", ".join(f"{number} {level}" for level, number in comparison.levels.items())
    caption = [f"Kernels beside each other: {levels}."] * bool(levels)
    if comparison.lacks_findings:
        caption.append("Findings are not compared: an earlier tclab made one of the reports.")
    return replace(
        tabulate_changes(comparison.changes, ("first", "second")), caption=" ".join(caption)
    )


def read_report(path: Path) -> Report:
    """Read the report in a file. Raises BadRequest if the file contains none."""
    try:
        report = Report.from_json(path.read_text(encoding="utf-8"))
        return replace(report, snapshot=clean_guards(report.snapshot))
    except UNREADABLE as error:
        raise BadRequest(
            str(path),
            f"not a report: {error}",
            "make one with tclab explain FILE.py:NAME --format json -o PATH",
        ) from error


def side_labels(paths: tuple[Path, Path], reports: tuple[Report, Report]) -> tuple[str, str]:
    """Return a label for each report: its title, target and PyTorch; if these are equal, the file's
    name.
    """
    left, right = map(_describe_side, reports)
    if left == right:
        return str(paths[0]), str(paths[1])
    return ", ".join(left), ", ".join(right)


def title(paths: tuple[Path, Path], reports: tuple[Report, Report]) -> str:
    """Return the page's title, such as ``model.py:f: NVIDIA H200 and Tesla T4``: the part that both
    reports share, then the parts that differ.
    """
    left, right = map(_describe_side, reports)
    differing = [(one, two) for one, two in zip(left, right) if one != two]
    if not differing:
        return " and ".join(path.name for path in paths)
    sides = " and ".join(", ".join(side) for side in zip(*differing))
    return f"{left[0]}: {sides}" if left[0] == right[0] else sides


def _describe_side(report: Report) -> tuple[str, str, str]:
    """Return a report's function, its device and its PyTorch."""
    torch = report.provenance.torch if report.provenance else "unknown"
    return report.title, report.target or "this machine", f"PyTorch {torch}"


def pair_chains(reports: tuple[Report, Report], names: tuple[str, str]) -> list[Diff]:
    """Return a Diff for each pair of chains; the first chain of one report is paired with the first
    of the other.
    """
    chains = zip_longest(*(report.chains for report in reports), fillvalue=Chain())
    return [
        Diff(left.title or right.title, f"graph-{number}", names, left.panes, right.panes)
        for number, (left, right) in enumerate(chains)
    ]
