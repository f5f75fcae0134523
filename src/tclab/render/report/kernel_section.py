"""Draw the section on kernels: those of the first call with their totals, then the others."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tclab.render import parts
from tclab.render.escape import COMMA, NOTHING, Html, allow_breaks, join, tag
from tclab.render.kinds import table
from tclab.render.options import Options, place_link
from tclab.render.report import kernels

if TYPE_CHECKING:
    from tclab.model import KernelRow, Report, Table

#: A table with at least this number of rows has a field that filters them; a longer table shows
#: this number of rows at first.
_FILTER_ROWS, _ROWS_AT_FIRST = 12, 20
_BREAKS = re.compile("([_.])")


def html(report: Report, options: Options) -> Html:
    """Draw the kernels that the first call runs, and in a fold the kernels of graphs that later
    calls compiled.
    """
    first = kernels.select_first_call(report.kernels)
    later = kernels.select_later_calls(report.kernels)
    drawn = _draw_rows(first, report, options)
    if not later:
        return drawn
    title = f"{parts.count(len(later), 'more row')}, of graphs that later calls compiled"
    return join([drawn, parts.fold(title, _draw_rows(later, report, options))])


def _draw_rows(rows: Sequence[KernelRow], report: Report, options: Options) -> Html:
    """Draw a table of kernels. Names link to the kernel's code, lines to the source."""
    if not rows:
        return NOTHING
    compact = kernels.compact_table(rows)
    cells = table.cell_htmls(compact)
    for row, kernel in zip(cells, rows if report.chains else ()):
        for at, name in enumerate(compact.columns):
            row[at] = _linked_cell(name, kernel, options) or row[at]
    class_name = "tclab explain-kernels"
    class_name += " tclab-filtered" if len(rows) >= _FILTER_ROWS else ""
    return tag("div", _draw_table(compact, cells, rows), class_=class_name)


def _draw_table(compact: Table, cells: Sequence[Sequence[Html]], rows: Sequence[KernelRow]) -> Html:
    """Draw the rows and their totals. A script brings the later rows of a long table."""
    right = table.numeric_columns(compact)
    added_up = kernels.add_up(rows, compact)
    totals = table.cell_htmls(added_up)[0] if added_up else ()
    shown = _ROWS_AT_FIRST if len(cells) > _ROWS_AT_FIRST + _FILTER_ROWS else len(cells)
    tables = [parts.bare_table(compact.columns, cells[:shown], right=right, totals=totals)]
    if cells[shown:]:
        late = parts.bare_table(compact.columns, cells[shown:], right=right)
        tables.append(tag("noscript", late))
    return parts.scroll_box(join(tables), "Kernels")


def _linked_cell(column: str, row: KernelRow, options: Options) -> Html:
    """Return the linked HTML of a kernel's name or lines; '' for other columns."""
    if column == "kernel":
        pane = options.id(f"chain{row.graph}", kernels.pane_id(row))
        name = tag("code", allow_breaks(row.name, _BREAKS))
        return tag("a", name, href=f"#{pane}")
    if column == "lines":
        return join((place_link(line, options) for line in row.lines), COMMA)
    return NOTHING
