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
from tclab.compare import fixes
from tclab.model import DIFFERS, Agreement, Break, Report
from tclab.render.kinds.table import cell_texts, numeric_columns
from tclab.render.report import counts, kernels, words
from tclab.text import user_lines

#: The most kernels, breaks and recompiles to print; the report has them all.
_MOST = 20
#: The most calls to print, so that what is wrong stands on the first screen.
_CALLS = 4
#: Columns that a terminal leaves out: the kernel's name or its instructions show the same.
_LEFT_OUT = ("kind", "instructions")


def print_summary(report: Report, path: Path | None) -> None:
    """Print counts, breaks with their fixes, recompiles, refusals and kernels, on stderr if stdout
    gets the report. Warnings of other packages come last, on stderr.
    """
    out = terminal.console(stderr=path is None)
    _print_head(out, report)
    for item in report.breaks.breaks[:_MOST]:
        _print_break(out, item)
    _print_more(out, len(report.breaks), "breaks")
    _print_recompiles(out, report)
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
    """Print one line, which is wrapped in a narrow terminal but not in a pipe."""
    out.print(markup, soft_wrap=True)


def _print_indented(out: Console, head: str, text: str) -> None:
    """Print text after `head`; in a terminal its further lines are indented, in a pipe it is one
    line.
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
    _print_line(out, f"[bold]{escape(counts.verdict(report))}[/]")
    if report.own and report.own.fix:
        _print_indented(out, "  fix: ", report.own.fix)
    _print_line(out, escape(", ".join(counts.costs(report)) + "."))
    for text in filter(None, (words.caching(report), words.checkpointing(report))):
        _print_line(out, escape(text))
    _print_agreement(out, report.agreement)
    for advice in report.advisories:
        _print_line(out, f"[bold yellow]{words.KNOWN_FAULT}:[/] {escape(str(advice))}")
        _print_indented(out, "  next: ", advice.workaround)


def _print_agreement(out: Console, agreement: Agreement) -> None:
    """Print whether the results are eager's; if not, the first difference and the next step."""
    if agreement.verdict != DIFFERS:
        _print_line(out, escape(words.agreement(agreement)))
        return
    _print_line(out, f"[bold red]{escape(words.agreement(agreement))}[/]")
    _print_indented(out, "  next: ", agreement.next_step)


def _print_kernels(out: Console, report: Report) -> None:
    is_open = any(row.open for row in report.kernels)
    compact = kernels.compact_table(report.kernels, _LEFT_OUT[is_open:])
    if not compact.rows:
        return
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name, right in zip(compact.columns, numeric_columns(compact)):
        side: Literal["left", "right"] = "right" if right else "left"
        table.add_column(name, justify=side, overflow="fold", no_wrap=right)
    for row in cell_texts(compact)[:_MOST]:
        table.add_row(*map(escape, row))
    out.print(table)
    _print_more(out, len(compact.rows), "kernels")


def _print_break(out: Console, item: Break) -> None:
    """Print the user's line, the reason and the fixes."""
    label = "skipped" if item.skipped else "graph break"
    place = next(
        reversed(user_lines.select_user_lines(item.stack, lambda line: line.file)), item.location
    )
    code = place.code.strip() if place else ""
    _print_line(
        out,
        f"[yellow]{label}[/] {escape(str(place or 'at an unknown line'))}  {escape(code)}".rstrip(),
    )
    number = f" [{item.gb_id}]" if item.gb_id else ""
    inner = f", in {item.location}" if item.location and place != item.location else ""
    _print_line(out, f"  {escape(item.reason + number + inner)}")
    for word, hint in zip(("fix", "or"), fixes.usable_hints(item)):
        _print_indented(out, f"  {word}: ", " ".join(hint.split()))


def _print_recompiles(out: Console, report: Report) -> None:
    again = [(s.filename, n) for s in report.sources for n in s.notes if n.label == "recompile"]
    for file, note in again[:_MOST]:
        _print_line(out, f"[yellow]recompile[/] {escape(f'{file}:{note.line}')}")
        _print_indented(out, "  ", note.text)
        _print_indented(out, "  fix: ", note.detail)
    _print_more(out, len(again), "recompiles")


def _print_more(out: Console, count: int, what: str) -> None:
    if count > _MOST:
        _print_line(out, f"… and {count - _MOST} more {what} in the report")
