"""Insert values from the tables of runs into the sentences of a page, as numbers with units."""

from __future__ import annotations

import math
import re

from tclab.errors import PageError
from tclab.model import Run, Table, slug
from tclab.render.escape import Html, esc, tag
from tclab.render.kinds.table import cell_texts
from tclab.site.pages import claim_checks
from tclab.site.pages.book import Book
from tclab.site.pages.prose.sentences import Value


def number_html(value: Value, book: Book) -> Html:
    """Return the value as a number with its unit; its title says where and when it was measured."""
    run = _find_run(value, book)
    days = " and ".join(sorted({day for source in run.figure_sources for day in source.dates}))
    title = f"snippets/{run.snippet}.py, {claim_checks.origin(run)}, {days}"
    return tag("span", esc(number_text(value, book)), class_="tclab-number", title=title)


def number_text(value: Value, book: Book) -> str:
    """Return the value as a number with its unit, as plain text."""
    table = _find_table(value, _find_run(value, book))
    row = _find_index(value, "row", value.row, [str(row[0]) for row in table.rows])
    column = _find_index(value, "column", value.column, list(table.columns))
    found = table.rows[row][column]
    if _is_empty(found):
        cause = f"the cell {value.row}/{value.column} of {value.artifact} holds no value"
        raise PageError(str(value), cause, "name another cell, or leave the value out")
    unit = table.units[column] if column < len(table.units) else ""
    return cell_texts(table)[row][column] + (f"\N{NO-BREAK SPACE}{unit}" if unit else "")


def _is_empty(cell: object) -> bool:
    """Return whether a cell of a table holds nothing that a sentence can state."""
    if isinstance(cell, float):
        return math.isnan(cell)
    return cell is None or (isinstance(cell, str) and not cell.strip(_BLANK))


#: White space and dashes. A cell that has only these characters has no value.
_BLANK = " \t\n-–—\N{NO-BREAK SPACE}\N{ZERO WIDTH SPACE}"


def _find_run(value: Value, book: Book) -> Run:
    runs = book.select_runs(value.snippet, str(value))
    for run in runs:
        if value.environment in ("", run.environment):
            return run
    known = ", ".join(run.environment for run in runs)
    cause = f"{value.snippet} has no run of {value.environment!r}"
    raise PageError(str(value), cause, f"there are: {known}")


def _find_table(value: Value, run: Run) -> Table:
    second = f"{value.artifact}-2"  # a run gives this name to a second artifact
    if isinstance(next((a for a in run.artifacts if a.name == second), None), Table):
        cause = f"{value.snippet} shows more than one table {value.artifact!r}"
        raise PageError(str(value), cause, "give each table a name of its own")
    try:
        table = run.artifact(value.artifact)
    except KeyError as error:
        raise PageError(str(value), str(error.args[0]), "name one of those") from None
    if not isinstance(table, Table):
        raise PageError(str(value), f"{value.artifact!r} is no table", "name a table")
    return table


def _find_index(value: Value, axis: str, wanted_name: str, names: list[str]) -> int:
    """Return the index of the row or column with this name; ``#4`` is the fourth row.

    Raises PageError unless exactly one name matches, so that a value never comes from a wrong row.
    """
    if axis == "row" and (position := _POSITION.fullmatch(wanted_name)):
        if int(position[1]) <= len(names):
            return int(position[1]) - 1
    elif len(found := _find_positions(wanted_name, names)) == 1:
        return found[0]
    step = f"there are: {', '.join(names)}{'; #1 is the first' if axis == 'row' else ''}"
    raise PageError(str(value), f"{value.artifact} has not one {axis} {wanted_name!r}", step)


_POSITION = re.compile(r"#([1-9][0-9]*)")


def _find_positions(wanted_name: str, names: list[str]) -> list[int]:
    """Return the indices of the names that equal `wanted_name`. If there are none, return the
    indices of the names that differ from it only in punctuation.

    A name without letters must be equal: 4 matches neither -4 nor 0.4.
    """
    exact = [position for position, name in enumerate(names) if name == wanted_name]
    if exact or not re.search("[a-z]", wanted_name, re.IGNORECASE):
        return exact
    return [position for position, name in enumerate(names) if slug(name) == slug(wanted_name)]
