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

from tclab import terminal
from tclab.explain import fixes
from tclab.model import Break, Report
from tclab.render.kinds.table import cells, numeric
from tclab.render.report import counts, kernels, words

#: A terminal shows so many kernels, breaks and recompiles; the report has them all.
_MOST = 20
#: What a kernel's name says, too, or who reads the instructions sees: room for the rest.
_NOT_HERE = ("kind", "instructions")


def print_summary(shown: Report, path: Path | None) -> None:
    """Counts, kernels, breaks with their fix, recompiles, refusals; on stderr where stdout has the
    report. Warnings of other packages come last, on stderr.
    """
    out = terminal.console(stderr=path is None)
    _print_head(out, shown)
    _print_kernels(out, shown)
    for item in shown.breaks.breaks[:_MOST]:
        _print_break(out, item)
    _print_more(out, len(shown.breaks), "breaks")
    _print_recompiles(out, shown)
    for gap, step in words.gaps(shown):
        _line(out, f"[bold yellow]incomplete:[/] {escape(gap)}")
        _hanging(out, "  next: ", step)
    if path is not None:
        size = path.stat().st_size / 1e6
        _line(out, f"[green]wrote[/] {escape(str(path))}, {size:.1f} MB")
    print_warnings(shown.warnings)


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


def _print_head(out: Console, shown: Report) -> None:
    device = f"for {shown.target}" if shown.target else "on this machine"
    _line(out, f"[bold]{escape(shown.title)}[/] {escape(device)}")
    _hanging(out, "  ", " · ".join(words.made_by(shown)))
    for number, call in enumerate(shown.calls, 1):
        _line(out, f"  call {number}: {escape(call or 'no arguments')}")
    for remark in shown.remarks:
        _line(out, f"  [dim]{escape(remark)}[/]")
    _line(out, f"[bold]{escape(counts.verdict(shown))}[/]")
    _line(out, escape(", ".join(counts.costs(shown)) + "."))


def _print_kernels(out: Console, shown: Report) -> None:
    found = kernels.compact(shown.kernels, _NOT_HERE)
    if not found.rows:
        return
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name, right in zip(found.columns, numeric(found)):
        side: Literal["left", "right"] = "right" if right else "left"
        table.add_column(name, justify=side, overflow="fold", no_wrap=right)
    for row in cells(found)[:_MOST]:
        table.add_row(*map(escape, row))
    out.print(table)
    _print_more(out, len(found.rows), "kernels")


def _print_break(out: Console, item: Break) -> None:
    """Where it is, why, and what to do."""
    label = "skipped" if item.skipped else "graph break"
    code = item.location.code.strip() if item.location else ""
    _line(out, f"[yellow]{label}[/] {escape(f'{item.location}')}  {escape(code)}".rstrip())
    number = f" [{item.gb_id}]" if item.gb_id else ""
    _line(out, f"  {escape(item.reason + number)}")
    for word, hint in zip(("fix", "or"), fixes.of(item)):
        _hanging(out, f"  {word}: ", " ".join(hint.split()))


def _print_recompiles(out: Console, shown: Report) -> None:
    found = [(s.filename, n) for s in shown.sources for n in s.notes if n.label == "recompile"]
    for file, note in found[:_MOST]:
        _line(out, f"[yellow]recompile[/] {escape(f'{file}:{note.line}')}")
        _hanging(out, "  ", note.text)
    _print_more(out, len(found), "recompiles")


def _print_more(out: Console, count: int, what: str) -> None:
    if count > _MOST:
        _line(out, f"… and {count - _MOST} more {what} in the report")
