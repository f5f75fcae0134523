"""What ``tclab explain`` prints of a report: a screen of text."""

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

#: A terminal shows so many kernels, breaks and recompiles; the report has them all.
_MOST = 20
#: What a kernel's name says, too, or who reads the instructions sees: room for the rest.
_NOT_HERE = ("kind", "instructions")


def print_summary(report: Report, path: Path | None) -> None:
    """Counts, kernels, breaks with their fix, recompiles, refusals; on stderr where stdout has the
    report. Warnings of other packages come last, on stderr.
    """
    out = terminal.console(stderr=path is None)
    _print_head(out, report)
    _print_kernels(out, report)
    for item in report.breaks.breaks[:_MOST]:
        _print_break(out, item)
    _print_more(out, len(report.breaks), "breaks")
    _print_recompiles(out, report)
    for gap, step in words.gaps(report):
        _line(out, f"[bold yellow]incomplete:[/] {escape(gap)}")
        _hanging(out, "  next: ", step)
    if path is not None:
        size = path.stat().st_size / 1e6
        _line(out, f"[green]wrote[/] {escape(str(path))}, {size:.1f} MB")
    print_warnings(report.warnings)


def print_warnings(texts: Iterable[str]) -> None:
    """What other packages warned of, on stderr."""
    out = terminal.console(stderr=True)
    for text in texts:
        _line(out, f"[dim]warning from {escape(text)}[/]")


def _line(out: Console, markup: str) -> None:
    """One line, which a narrow terminal wraps and a pipe does not."""
    out.print(markup, soft_wrap=True)


def _hanging(out: Console, head: str, text: str) -> None:
    """Text behind its head, the lines of a terminal one under the other; one line in a pipe."""
    wraps = out.is_terminal or "COLUMNS" in os.environ
    lines = textwrap.wrap(text, max(20, out.width - len(head))) if wraps else [text]
    for lead, line in zip([head, *[" " * len(head)] * len(lines)], lines):
        _line(out, f"[green]{escape(lead)}[/]{escape(line)}")


def _print_head(out: Console, report: Report) -> None:
    device = f"for {report.target}" if report.target else "on this machine"
    _line(out, f"[bold]{escape(report.title)}[/] {escape(device)}")
    _hanging(out, "  ", " · ".join(words.provenance_texts(report)))
    for number, call in enumerate(report.calls, 1):
        _line(out, f"  call {number}: {escape(call or 'no arguments')}")
    for remark in words.remarks(report):
        _line(out, f"  [dim]{escape(remark)}[/]")
    _line(out, f"[bold]{escape(counts.verdict(report))}[/]")
    if report.own and report.own.fix:
        _hanging(out, "  fix: ", report.own.fix)
    _line(out, escape(", ".join(counts.costs(report)) + "."))
    _print_agreement(out, report.agreement)
    for advice in report.advisories:
        _line(out, f"[bold yellow]{words.KNOWN_FAULT}:[/] {escape(str(advice))}")
        _hanging(out, "  next: ", advice.workaround)


def _print_agreement(out: Console, agreement: Agreement) -> None:
    """Whether the results are eager's; of a difference the first values, and what to do."""
    if agreement.verdict != DIFFERS:
        _line(out, escape(words.agreement(agreement)))
        return
    _line(out, f"[bold red]{escape(words.agreement(agreement))}[/]")
    _hanging(out, "  next: ", agreement.next_step)


def _print_kernels(out: Console, report: Report) -> None:
    is_open = any(row.open for row in report.kernels)
    compact = kernels.compact_table(report.kernels, _NOT_HERE[is_open:])
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
    """Where it is, why, and what to do."""
    label = "skipped" if item.skipped else "graph break"
    place = next(
        reversed(user_lines.select_user_lines(item.stack, lambda line: line.file)), item.location
    )
    code = place.code.strip() if place else ""
    _line(
        out,
        f"[yellow]{label}[/] {escape(str(place or 'at an unknown line'))}  {escape(code)}".rstrip(),
    )
    number = f" [{item.gb_id}]" if item.gb_id else ""
    inner = f", in {item.location}" if item.location and place != item.location else ""
    _line(out, f"  {escape(item.reason + number + inner)}")
    for word, hint in zip(("fix", "or"), fixes.usable_hints(item)):
        _hanging(out, f"  {word}: ", " ".join(hint.split()))


def _print_recompiles(out: Console, report: Report) -> None:
    again = [(s.filename, n) for s in report.sources for n in s.notes if n.label == "recompile"]
    for file, note in again[:_MOST]:
        _line(out, f"[yellow]recompile[/] {escape(f'{file}:{note.line}')}")
        _hanging(out, "  ", note.text)
        _hanging(out, "  fix: ", note.detail)
    _print_more(out, len(again), "recompiles")


def _print_more(out: Console, count: int, what: str) -> None:
    if count > _MOST:
        _line(out, f"… and {count - _MOST} more {what} in the report")
