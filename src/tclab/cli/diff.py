"""Define ``tclab diff``: compare two reports of ``tclab explain`` stage by stage, or two runs by
their traces.
"""

from __future__ import annotations

import sys
import webbrowser
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path

import click

from tclab import render
from tclab.cli import terminal
from tclab.cli.output_file import replace_file
from tclab.compare.changes import Comparison, compare_snapshots
from tclab.compare.identity import clean_guards
from tclab.compare.words import tabulate_changes
from tclab.errors import BadRequest
from tclab.explain import Report
from tclab.jobs import open_job
from tclab.jobs.pairs import ProcessPair, pair_processes
from tclab.model import Artifact, Chain, Diff, Table
from tclab.model.codec import UNREADABLE
from tclab.model.snapshots import NOTHING
from tclab.render import standalone
from tclab.render.escape import join


@click.command(short_help="Two reports of explain, or two runs, side by side.")
@click.argument("left", type=click.Path(exists=True, path_type=Path))
@click.argument("right", type=click.Path(exists=True, path_type=Path))
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), metavar="PATH",
              help="Write one HTML file. Default: text, to stdout.")  # fmt: skip
@click.option("--open", "open_", is_flag=True, help="Show the HTML file in a browser.")
@click.pass_context
def diff(context: click.Context, left: Path, right: Path, output: Path | None, open_: bool) -> None:
    """Compare what was made of a function twice: for two targets, by two PyTorch versions, or
    before and after an edit. LEFT and RIGHT are JSON reports. What differs comes first: breaks,
    kernels by what they compute, memory; names and hashes do not count. Two runs, ranks or versions
    of a job are compared by their traces: LEFT and RIGHT are folders of TORCH_TRACE, or logs.

    \b
    Ends with: 0 the same, 4 something differs, 3 a report is incomplete, 2 wrong use.

    \b
    Examples:
      tclab explain model.py:f --target h200 --format json -o h200.json
      tclab explain model.py:f --target a100 --format json -o a100.json
      tclab diff h200.json a100.json -o diff.html --open
      tclab diff monday/ tuesday/              two runs, from their TORCH_TRACE
    """
    try:
        if open_ and output is None:
            raise BadRequest("--open", "there is no file to show", "say --output PATH.html, too")
        sides = left, right
        shown = _compare_jobs(sides) if any(map(_is_trace, sides)) else _compare_reports(sides)
    except BadRequest as problem:
        terminal.print_error(problem)
        context.exit(2)
    if output is None:
        sys.stdout.write("\n\n".join(map(render.text, shown.artifacts)) + "\n")
    else:
        replace_file(
            output, standalone.page(shown.title, join(map(render.figure, shown.artifacts)))
        )
        if open_:
            webbrowser.open(output.resolve().as_uri())
    context.exit(shown.status)


@dataclass(frozen=True)
class _ShownComparison:
    """A comparison: the title of its page, what the page shows, and the exit status."""

    title: str
    artifacts: Sequence[Artifact]
    status: int


def _is_trace(path: Path) -> bool:
    """Return whether a path is no report: a folder, a log or an archive."""
    return path.is_dir() or path.suffix != ".json"


def _compare_jobs(paths: tuple[Path, Path]) -> _ShownComparison:
    jobs = [open_job([path], snapshots=True) for path in paths]
    sides = (str(paths[0]), str(paths[1]))
    pairs = [(pair, pair.comparison) for pair in pair_processes(*jobs)]
    tables = [_tabulate_pair(pair, comparison, sides) for pair, comparison in pairs]
    title = " and ".join(path.name or str(path) for path in paths)
    if any(pair.is_empty for pair, _ in pairs):
        return _ShownComparison(title, tables, 3)
    all_same = all(each.same for _, each in pairs)
    return _ShownComparison(title, tables, 0 if all_same else 4)


def _tabulate_pair(pair: ProcessPair, comparison: Comparison, sides: tuple[str, str]) -> Table:
    table = tabulate_differences(comparison, sides)
    return replace(table, title=f"{table.title}: {pair.title}")


def _compare_reports(paths: tuple[Path, Path]) -> _ShownComparison:
    reports = read_report(paths[0]), read_report(paths[1])
    for path, report in zip(paths, reports):
        if report.snapshot.torch and report.snapshot.is_empty:
            terminal.print_note(f"{path}: {NOTHING}")
    comparison = compare_snapshots(*(report.snapshot for report in reports))
    compared: list[Artifact] = list(pair_chains(reports, side_labels(paths, reports)))
    if _have_snapshots(reports):
        compared.insert(0, tabulate_differences(comparison))
    return _ShownComparison(title(paths, reports), compared, status(reports, comparison))


def status(reports: tuple[Report, Report], comparison: Comparison) -> int:
    """Return the exit status: 3 if a report is incomplete, 0 if the reports are the same, 4 if
    something differs.
    """
    if not _have_snapshots(reports) or not all(report.complete for report in reports):
        return 3
    return 0 if comparison.same else 4


def _have_snapshots(reports: tuple[Report, Report]) -> bool:
    """Return whether both reports have identities to compare. Reports of an earlier tclab have only
    stages, and two reports without identities would count as equal although nothing was compared.
    """
    return all(r.snapshot.torch and not r.snapshot.is_empty for r in reports)


def tabulate_differences(
    comparison: Comparison, sides: tuple[str, str] = ("first", "second")
) -> Table:
    """Return a table of the differences, in the order of a compile."""
    levels = ", ".join(f"{number} {level}" for level, number in comparison.levels.items())
    caption = [f"Kernels beside each other: {levels}."] * bool(levels)
    if comparison.lacks_findings:
        caption.append("Findings are not compared: an earlier tclab made one of the reports.")
    return replace(tabulate_changes(comparison.changes, sides), caption=" ".join(caption))


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
