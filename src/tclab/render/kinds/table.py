"""Render tables of measured or counted values."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from types import MappingProxyType
from typing import TYPE_CHECKING
from urllib.parse import quote

from tclab.errors import TclabError
from tclab.render import columns, parts
from tclab.render.escape import NOTHING, SPACE, Html, allow_breaks, esc, join, tag

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tclab.model import Table
    from tclab.render.options import Options

#: Tables with at least this many rows can be downloaded as files.
DOWNLOAD_ROWS = 20
#: Characters that need no quoting in a data: address.
_UNQUOTED = "/,:;+*()=@"
_DECIMALS = re.compile(r"\.\d+f$")
#: A part of a path or of an address, as ``github.com/`` in ``github.com/pytorch/pytorch``; no part
#: of ``0/0``, which is a compile.
_PART_OF_PATH = re.compile(r"([^\W\d]/)(?=[^\W\d])")

Cell = str | int | float | bool | None


def cell_text(value: Cell, spec: str = "", title: str = "") -> str:
    """Return a cell as text. None is a dash; a float without a format has 4 significant digits."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else ("∞" if value > 0 else "−∞")
    return _format_number(value, spec, title).replace("-", "−")


#: Formats of a table that are no format() specs → the text of a number.
_UNIT_FORMATS = {"bytes": parts.byte_count, "operations": parts.operation_count}


def _format_number(value: int | float, spec: str, title: str) -> str:
    if spec in _UNIT_FORMATS:
        return _UNIT_FORMATS[spec](int(value))
    default = ".4g"
    # an int is a count, so it gets no decimals: a column can have "20 candidates" and "8.26 times"
    if isinstance(value, int):
        default, spec = "", _DECIMALS.sub(".0f", spec)
    try:
        return format(value, spec or default)
    except ValueError as error:
        cause = f"format {spec!r} does not fit {value!r}: {error}"
        raise TclabError(f"table {title!r}", cause, "give a format() spec for numbers") from error


def _get_or_empty(values: tuple[str, ...], index: int) -> str:
    return values[index] if index < len(values) else ""


def _float_format(column: tuple[Cell, ...]) -> str:
    """Return a format with the most decimals that a float of the column needs; '' if that is more
    than 3.
    """
    texts = [
        f"{value:.4g}" for value in column if isinstance(value, float) and math.isfinite(value)
    ]
    decimals = max((len(text.partition(".")[2]) for text in texts), default=4)
    return f".{decimals}f" if decimals <= 3 and not any("e" in text for text in texts) else ""


def cell_texts(table: Table) -> list[list[str]]:
    """Return the rows as text."""
    columns = list(zip(*table.rows, strict=True))
    specs = [
        _get_or_empty(table.formats, index) or _float_format(column)
        for index, column in enumerate(columns)
    ]
    by_column = [
        [cell_text(value, spec, table.title) for value in column]
        for column, spec in zip(columns, specs)
    ]
    return [list(row) for row in zip(*by_column, strict=True)]


def cell_htmls(table: Table) -> list[list[Html]]:
    """Return the rows as HTML. A number with a unit keeps its value, by which a script sorts."""
    units = [_get_or_empty(table.formats, at) in _UNIT_FORMATS for at in range(len(table.columns))]
    return [
        [
            _cell_html(text, value if unit else None)
            for text, value, unit in zip(texts, row, units, strict=True)
        ]
        for texts, row in zip(cell_texts(table), table.rows)
    ]


def _cell_html(text: str, value: Cell) -> Html:
    if text == "–":
        return parts.DASH
    shown = allow_breaks(text, _PART_OF_PATH)
    return shown if value is None else tag("data", shown, value=str(value))


def numeric_columns(table: Table) -> list[bool]:
    """Return for each column whether it holds numbers only; such columns are right-aligned."""
    flags = []
    for column in zip(*table.rows, strict=True) if table.rows else ():
        values = [value for value in column if value is not None]
        flags.append(bool(values) and all(isinstance(value, (int, float)) for value in values))
    return flags


def html(
    artifact: Table,
    options: Options,
    first: Sequence[Html] = (),
    links: Mapping[str, str] = MappingProxyType({}),
) -> Html:
    """Return the table with its caption and downloads, or as figures with the view ``figures``.

    `first` holds HTML for the first cell of each row; if it is empty, the cell keeps its text.
    `links` maps a text in the column ``compile`` to the address to which it leads. The site's
    search ignores a folded table.
    """
    if options.view == "figures":
        return _draw_figures(artifact)
    rows = cell_htmls(artifact)
    for row, first_cell in zip(rows, first):
        row[0] = first_cell or row[0]
    if links and "compile" in artifact.columns:
        at = artifact.columns.index("compile")
        for row, values in zip(rows, artifact.rows):
            if address := links.get(str(values[at])):
                row[at] = tag("a", row[at], href=address)
    body = parts.table(
        artifact.columns,
        rows,
        label=artifact.title,
        right=numeric_columns(artifact),
        units=artifact.units,
        search=not options.folds(len(rows)),
    )
    body = parts.fold_rows_if_long(body, len(rows), options) if rows else parts.note("No rows.")
    caption = parts.caption(artifact.caption)
    return join(
        [body, caption, _download_links(artifact) if len(rows) >= DOWNLOAD_ROWS else NOTHING]
    )


def _download_links(artifact: Table) -> Html:
    """Return links that download the table as CSV and JSON. Values are not rounded; units are in
    the column names.
    """
    name = artifact.name or "table"
    files = {f"{name}.csv": ("text/csv", csv_text(artifact))}
    files[f"{name}.json"] = ("application/json", json_text(artifact))
    links = (
        tag(
            "a",
            esc(file),
            href=f"data:{kind};charset=utf-8,{quote(text, _UNQUOTED)}",
            download=file,
        )
        for file, (kind, text) in files.items()
    )
    return tag("p", join(links, SPACE), class_="tclab-caption tclab-take", data_search_exclude="")


def column_headings(artifact: Table) -> list[str]:
    """Return the name of each column with its unit: ``eager [µs]``."""
    units = (_get_or_empty(artifact.units, index) for index in range(len(artifact.columns)))
    return [parts.heading_text(name, unit) for name, unit in zip(artifact.columns, units)]


def _column_names(artifact: Table) -> list[str]:
    """Return the column headings; an empty one becomes ``column 1`` and so on."""
    return [head or f"column {index}" for index, head in enumerate(column_headings(artifact), 1)]


def csv_text(artifact: Table) -> str:
    """Return the table as CSV (RFC 4180): a line of names, then the rows. None is an
    empty field.
    """
    out = io.StringIO()
    csv.writer(out).writerows([_column_names(artifact), *artifact.rows])
    return out.getvalue()


def json_text(artifact: Table) -> str:
    """Return the table as JSON: a list with an object for each row."""
    names = _column_names(artifact)
    return json.dumps([dict(zip(names, row)) for row in artifact.rows], ensure_ascii=False)


def _draw_figures(artifact: Table) -> Html:
    """Draw the values of the second column in large type, with the first column as labels."""
    rows = (
        tag("div", tag("dt", esc(row[0])), tag("dd", esc(row[1]))) for row in cell_texts(artifact)
    )
    return tag("dl", *rows, class_="tclab-figures")


def text(artifact: Table) -> str:
    """Return the table and its caption as text."""
    body = (
        columns.table(column_headings(artifact), cell_texts(artifact), numeric_columns(artifact))
        if artifact.rows
        else "No rows."
    )
    caption = columns.paragraph(artifact.caption, other_prefix="") if artifact.caption else ""
    return columns.join(columns.heading(artifact.title), body, caption)
