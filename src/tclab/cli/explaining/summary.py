"""Print the summary of a report: one screen of text."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tclab.cli import terminal
from tclab.model import DIFFERS, FINDING_KINDS, WRONG, Finding, Report
from tclab.render.kinds.table import cell_texts, numeric_columns
from tclab.render.report import counts, findings, kernels, words

#: The most kernels and findings to print; the report has them all.
_MOST_ROWS = 20
#: The most calls to print, so that the findings fit on the first screen.
_CALLS = 4
#: Columns that a terminal leaves out, and columns that it leaves out if some kernels are open; then
#: it shows the column kind.
_LEFT_OUT, _LEFT_OUT_OPEN = ("kind", "instructions"), ("µs at least", "instructions")


def print_summary(report: Report, path: Path | None) -> None:
    """Print counts, findings with their fixes, refusals and kernels, on stderr if stdout gets the
    report. Warnings of other packages come last, on stderr.
    """
    out = terminal.console(stderr=path is None)
    _print_head(out, report)
    for finding in report.findings[:_MOST_ROWS]:
        _print_finding(out, finding)
    _print_more(out, len(report.findings), "findings")
    for gap, step in words.gaps(report):
        _print_line(out, f"[bold yellow]incomplete:[/] {escape(gap)}")
        _print_indented(out, "  next: ", step)
    _print_kernels(out, report)
    if path is not None:
        size = path.stat().st_size / 1e6
        _print_line(out, f"[green]wrote[/] {escape(str(path))}, {size:.1f} MB")
    print_warnings(report.warnings)


def print_warnings(texts: Iterable[str]) -> None:
    """Print the warnings of other packages on stderr."""
    out = terminal.console(stderr=True)
    for text in texts:
        _print_line(out, f"[dim]warning from {escape(text)}[/]")


def _print_line(out: Console, markup: str) -> None:
    """Print one line; a narrow terminal wraps it, a pipe does not."""
    out.print(markup, soft_wrap=True)


def _print_indented(out: Console, head: str, text: str) -> None:
    """Print text after `head`, with its further lines indented in a terminal, and as one line in a
    pipe.
    """
    wraps = out.is_terminal or "COLUMNS" in os.environ
    lines = textwrap.wrap(text, max(20, out.width - len(head))) if wraps else [text]
    for lead, line in zip([head, *[" " * len(head)] * len(lines)], lines):
        _print_line(out, f"[green]{escape(lead)}[/]{escape(line)}")


def _print_head(out: Console, report: Report) -> None:
    device = f"for {report.target}" if report.target else "on this machine"
    _print_line(out, f"[bold]{escape(report.title)}[/] {escape(device)}")
    _print_indented(out, "  ", " · ".join(words.provenance_texts(report)))
    for number, call in enumerate(report.calls[:_CALLS], 1):
        _print_line(out, f"  call {number}: {escape(call or 'no arguments')}")
    if more := len(report.calls[_CALLS:]):
        _print_line(out, f"  … and {more} more call{'s' * (more > 1)}")
    for remark in words.remarks(report):
        _print_line(out, f"  [dim]{escape(remark)}[/]")
    _print_line(out, f"[bold]{escape(counts.summary(report))}[/]")
    if bound := words.bound(report.cost):
        _print_line(out, f"[bold]{escape(bound)}[/]")
    if measured := words.measurement(report.measurement):
        _print_line(out, f"[bold]{escape(measured)}[/]")
    if held := words.memory(report.measurement):
        _print_line(out, escape(held))
    _print_line(out, escape(", ".join(counts.costs(report)) + "."))
    if report.agreement.verdict != DIFFERS:  # a difference from eager is already the first finding
        _print_line(out, escape(words.agreement(report.agreement)))


def _print_finding(out: Console, finding: Finding) -> None:
    """Print what happened, where, what it costs and what to do."""
    color = "bold red" if FINDING_KINDS[finding.name].rank == WRONG else "yellow"
    place = escape(findings.place_text(finding))
    _print_line(out, f"[{color}]{escape(finding.title)}[/] {place}".rstrip())
    _print_indented(out, "  ", findings.what_text(finding))
    for word, text in findings.actions(finding):
        _print_indented(out, f"  {word} ", text)


def _print_kernels(out: Console, report: Report) -> None:
    is_open = any(row.open for row in report.kernels)
    rows = kernels.select_first_call(report.kernels)
    compact = kernels.compact_table(rows, _LEFT_OUT_OPEN if is_open else _LEFT_OUT)
    if not compact.rows:
        return
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name, right in zip(compact.columns, numeric_columns(compact)):
        side: Literal["left", "right"] = "right" if right else "left"
        table.add_column(name, justify=side, overflow="fold", no_wrap=right)
    for row in cell_texts(compact)[:_MOST_ROWS]:
        table.add_row(*map(escape, row))
    if totals := kernels.add_up(rows, compact):
        table.add_section()
        table.add_row(*map(escape, cell_texts(totals)[0]), style="dim")
    out.print(table)
    _print_more(out, len(compact.rows), "kernels")
    if later := len(report.kernels) - len(rows):
        _print_line(out, f"… and {later} of graphs that later calls compiled, in the report")


def _print_more(out: Console, count: int, noun: str) -> None:
    if count > _MOST_ROWS:
        _print_line(out, f"… and {count - _MOST_ROWS} more {noun} in the report")
