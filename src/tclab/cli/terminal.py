"""Print the commands' text in a terminal: consoles, tables, errors. This module needs rich.

Text is coloured if the terminal has colours and NO_COLOR is not set.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

from tclab.system import streams

if TYPE_CHECKING:
    from rich.table import Table

    from tclab.cli.rich_console import FullPathConsole

_PIPE_COLUMNS = 10_000  # the columns for a pipe, which does not wrap lines


def console(*, stderr: bool = False) -> FullPathConsole:
    """Return a console that wraps no lines in a pipe, and prints ``:name:`` unchanged."""
    from tclab.cli.rich_console import FullPathConsole  # a page in a file is made without it

    stream = sys.stderr if stderr else streams.own_stdout()
    return FullPathConsole(
        file=stream, highlight=False, soft_wrap=False, width=_choose_width(stream), emoji=False
    )


def _choose_width(stream: TextIO) -> int | None:
    """Return the columns of a console; None means that rich reads COLUMNS or asks the terminal."""
    columns = os.environ.get("COLUMNS")
    if columns is None:
        return None if stream.isatty() else _PIPE_COLUMNS
    return None if columns.strip("0") else shutil.get_terminal_size().columns


def plain_table(*columns: str, right: Sequence[str] = ()) -> Table:
    """Return a table without frames, so that grep and cut can process it."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, justify="right" if column in right else "left", no_wrap=True)
    return table


def plural(count: int, noun: str) -> str:
    """Return a count with its noun: ``1 artifact``, ``2 artifacts``."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _escape(text: str) -> str:
    """Escape text that can have names from a file: its markup and its control characters."""
    from rich.markup import escape

    from tclab.render.escape import clean  # most commands print no error, and start faster

    return escape(clean(text))


def print_error(problem: object) -> None:
    """Print an error on stderr, with its first line marked."""
    head, _, rest = str(problem).partition("\n")
    out = console(stderr=True)
    out.print(f"[bold red]error:[/] {_escape(head)}", soft_wrap=True)
    if rest:
        out.print(_escape(rest), soft_wrap=True)


def print_note(text: str) -> None:
    """Print a remark on stderr."""
    console(stderr=True).print(_escape(text), soft_wrap=True)
