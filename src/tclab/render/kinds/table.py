"""Tables of measured or counted things."""

from __future__ import annotations

import csv
import io
import json
import math
from typing import TYPE_CHECKING
from urllib.parse import quote

from tclab.errors import TclabError
from tclab.render import columns, parts
from tclab.render.escape import NOTHING, SPACE, Html, esc, join, tag

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tclab.model import Table
    from tclab.render.options import Options

#: From so many rows on, a table can be taken away as a file.
LONG = 20
#: What stands for itself in the address of data.
_PLAIN = "/,:;+*()=@"

Cell = str | int | float | bool | None


def cell(value: Cell, spec: str = "", title: str = "") -> str:
    """A cell as text: None is a dash, a float without a format has 4 digits."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else ("∞" if value > 0 else "−∞")
    return _number(value, spec, title).replace("-", "−")


def _number(value: int | float, spec: str, title: str) -> str:
    default = ".4g" if isinstance(value, float) else ""
    try:
        return format(value, spec or default)
    except ValueError as error:
        cause = f"format {spec!r} does not fit {value!r}: {error}"
        raise TclabError(f"table {title!r}", cause, "give a format() spec for numbers") from error


def _at(values: tuple[str, ...], i: int) -> str:
    return values[i] if i < len(values) else ""


def _spec(column: tuple[Cell, ...]) -> str:
    """A format that gives a column of floats as many decimals as its longest needs, up to 3."""
    texts = [f"{v:.4g}" for v in column if isinstance(v, float) and math.isfinite(v)]
    decimals = max((len(s.partition(".")[2]) for s in texts), default=4)
    return f".{decimals}f" if decimals <= 3 and not any("e" in s for s in texts) else ""


def cells(table: Table) -> list[list[str]]:
    """The rows as text."""
    columns = list(zip(*table.rows, strict=True))
    specs = [_at(table.formats, i) or _spec(column) for i, column in enumerate(columns)]
    by_column = [
        [cell(value, spec, table.title) for value in column] for column, spec in zip(columns, specs)
    ]
    return [list(row) for row in zip(*by_column, strict=True)]


def numeric(table: Table) -> list[bool]:
    """Which columns hold numbers: these are aligned to the right."""
    out = []
    for column in zip(*table.rows, strict=True) if table.rows else ():
        some = [v for v in column if v is not None]
        out.append(bool(some) and all(isinstance(v, (int, float)) for v in some))
    return out


def html(artifact: Table, options: Options, first: Sequence[Html] = ()) -> Html:
    """The table under its columns' units, and its caption; or its figures. `first` is HTML for
    the first cell of each row, where it is more than text. A folded one is not searched.
    """
    if options.view == "figures":
        return _figures(artifact)
    rows = [[esc(c) if c != "–" else parts.DASH for c in row] for row in cells(artifact)]
    for row, more in zip(rows, first):
        row[0] = more or row[0]
    body = parts.table(
        artifact.columns,
        rows,
        label=artifact.title,
        right=numeric(artifact),
        units=artifact.units,
        search=not options.folds(len(rows)),
    )
    body = parts.folded_rows(body, len(rows), options) if rows else parts.note("No rows.")
    caption = parts.caption(artifact.caption)
    return join([body, caption, _downloads(artifact) if len(rows) >= LONG else NOTHING])


def _downloads(artifact: Table) -> Html:
    """The table to take away, as it was measured: no rounding, a column's unit in its name."""
    name = artifact.name or "table"
    files = {f"{name}.csv": ("text/csv", csv_text(artifact))}
    files[f"{name}.json"] = ("application/json", json_text(artifact))
    links = (
        tag("a", esc(file), href=f"data:{kind};charset=utf-8,{quote(text, _PLAIN)}", download=file)
        for file, (kind, text) in files.items()
    )
    return tag("p", join(links, SPACE), class_="tclab-caption tclab-take", data_search_exclude="")


def heads(artifact: Table) -> list[str]:
    """The columns with their units, as in `eager [µs]`."""
    units = (_at(artifact.units, i) for i in range(len(artifact.columns)))
    return [parts.heading(name, unit) for name, unit in zip(artifact.columns, units)]


def _names(artifact: Table) -> list[str]:
    """The heads; one that says nothing is called by number."""
    return [head or f"column {i}" for i, head in enumerate(heads(artifact), 1)]


def csv_text(artifact: Table) -> str:
    """The table as CSV (RFC 4180): a line of names, then the rows; None is an empty field."""
    out = io.StringIO()
    csv.writer(out).writerows([_names(artifact), *artifact.rows])
    return out.getvalue()


def json_text(artifact: Table) -> str:
    """The table as JSON: a list with an object a row."""
    names = _names(artifact)
    return json.dumps([dict(zip(names, row)) for row in artifact.rows], ensure_ascii=False)


def _figures(artifact: Table) -> Html:
    """The second column large, each number over what the first column calls it."""
    rows = (tag("div", tag("dt", esc(row[0])), tag("dd", esc(row[1]))) for row in cells(artifact))
    return tag("dl", *rows, class_="tclab-figures")


def text(artifact: Table) -> str:
    """The same, for a terminal."""
    body = (
        columns.table(heads(artifact), cells(artifact), numeric(artifact))
        if artifact.rows
        else "No rows."
    )
    caption = columns.paragraph(artifact.caption, rest="") if artifact.caption else ""
    return columns.join(columns.heading(artifact.title), body, caption)
