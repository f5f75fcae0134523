"""Render a job as one HTML file, and as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain

from tclab import render
from tclab.model import Job, Table
from tclab.render import parts, standalone
from tclab.render.escape import NOTHING, Html, esc, join, tag
from tclab.render.job import breaks, tables, words
from tclab.render.options import Options
from tclab.render.report import findings

#: The most rows of a table in a terminal, its columns, and the most findings.
_MOST_ROWS, _MOST_FINDINGS = 8, 8
_COLUMNS = ("kernel", "times", "time", "share", "compile", "lines", "function", "line", "seconds")
#: The rows of a table that are open in the page, and the least number of rows that is folded.
_MOST_OPEN, _LEAST_FOLDED = 12, 4
_MOST_REMARKS = 12
#: The beginning of the name of a table that is folded.
_FOLDED_PREFIX = "other-"
#: Section → its CSS class: long names of kernels may break anywhere, and guards need room.
_CLASSES = {"kernels": "explain-kernels", "recompiles": "explain-last-wide"}


def html(job: Job) -> str:
    """Return the job as a page: the findings, then the tables behind them."""
    options = Options()
    lead = tag("p", tag("strong", esc(words.verdict(job))), class_="explain-lead")
    found = findings.html(job.findings, options) or tag("p", esc(words.NOTHING_FOUND))
    drawn = [(name, title, body) for name, title, body in _sections(job, options) if body]
    links = [tag("li", tag("a", esc(title), href=f"#{name}")) for name, title, _ in drawn]
    contents = tag("nav", tag("ul", *links, class_="explain-contents"), aria_label="Contents")
    sections = [
        tag("section", tag("h2", esc(title), id=name), body, class_=_CLASSES.get(name))
        for name, title, body in drawn
    ]
    remarks = _draw_remarks(job.remarks)
    return standalone.page(words.title(job), join([lead, found, remarks, contents, *sections]))


def _draw_remarks(remarks: Sequence[str]) -> Html:
    """Draw the remarks. Many remarks, such as one for each foreign file of a folder, are folded."""
    if not remarks:
        return NOTHING
    drawn = tag("ul", *(tag("li", esc(each)) for each in remarks), class_="explain-warnings")
    if len(remarks) <= _MOST_REMARKS:
        return drawn
    return tag("div", parts.fold(parts.count(len(remarks), "remark"), drawn), class_="tclab")


def _sections(job: Job, options: Options) -> Iterator[tuple[str, str, Html]]:
    """Yield the id, the title and the HTML of each section. The HTML of a section with nothing to
    show is ''.
    """
    of = job.processes

    def draw(name: str, *shown: Table) -> Html:
        pieces = chain.from_iterable(map(_split_table, shown))
        return join(_draw(t, options.for_part(name, n)) for n, t in enumerate(pieces) if t.rows)

    yield "kernels", "What the GPU ran", draw("kernels", *map(tables.kernels, job.profiles))
    own, others = (tables.compiles(of, own=own) for own in (True, False))
    yield (
        "compiles",
        "What was compiled",
        draw("compiles", own, _mark_folded(others, bool(own.rows))),
    )
    yield "breaks", "Graph breaks", breaks.html(of, options.for_part("breaks"))
    yield "recompiles", "Recompiles", draw("recompiles", tables.recompiles(of))
    yield "times", "Compile time", draw("times", tables.phases(of))
    yield "caches", "Caches", draw("caches", tables.caches(of))
    yield "graphs", "Graphs", draw("graphs", tables.graphs(of))
    yield "processes", "Processes", draw("processes", tables.records(job))


def _split_table(table: Table) -> Iterator[Table]:
    """Yield the first rows of a table, with the last row if it is the sum, and then a table of the
    other rows. A table with only two or three other rows is not split.
    """
    rows, end = table.rows, len(table.rows)
    if table.name.startswith(_FOLDED_PREFIX):
        yield table
        return
    total = () if table.name != "kernels" else rows[-1:]
    rest = rows[_MOST_OPEN : end - len(total)]
    if len(rest) < _LEAST_FOLDED:
        yield table
        return
    yield replace(table, rows=(*rows[:_MOST_OPEN], *total))
    title = f"{len(rest):,} more {table.title}"
    yield _mark_folded(replace(table, title=title, rows=rest), True)


def _mark_folded(table: Table, folded: bool) -> Table:
    return replace(table, name=f"{_FOLDED_PREFIX}{table.name}") if folded else table


def _draw(table: Table, options: Options) -> Html:
    box = tag("div", render.html(table, replace(options, fold=False)), class_="tclab")
    return parts.fold(table.title, box) if table.name.startswith(_FOLDED_PREFIX) else box


def text(job: Job) -> str:
    """Return the first screen of the job: the verdict, the findings, the longest kernels."""
    lines = [words.title(job), words.verdict(job), ""]
    lines += (
        findings.lines(job.findings[:_MOST_FINDINGS]) if job.findings else [words.NOTHING_FOUND]
    )
    if more := len(job.findings) - _MOST_FINDINGS:
        lines += [f"and {parts.count(more, 'more finding')}"] if more > 0 else []
    for profile in job.profiles:
        lines += ["", render.text(_first_rows(tables.kernels(profile)))]
    own = tables.compiles(job.processes, own=True)
    if own.rows:
        lines += ["", render.text(_first_rows(own))]
    if job.remarks:
        lines += ["", *job.remarks[:_MOST_REMARKS]]
        lines += (
            [f"and {more} more remarks"] if (more := len(job.remarks) - _MOST_REMARKS) > 0 else []
        )
    return "\n".join(lines) + "\n"


def _first_rows(table: Table) -> Table:
    """Return the first rows of a table, with only the columns that fit into a terminal."""
    kept = [at for at, column in enumerate(table.columns) if column in _COLUMNS]
    whole = table.rows[_MOST_ROWS:][-1:] if table.name == "kernels" else ()  # the sum of all
    rows = (*table.rows[:_MOST_ROWS], *whole)
    return tables.pick_columns(replace(table, rows=rows), kept)
