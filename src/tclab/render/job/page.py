"""Render a job as one HTML file, and as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import TypeVar

from tclab import render
from tclab.model import Artifact, DeviceProfile, Job, Table
from tclab.render import parts, standalone
from tclab.render.escape import Html, esc, join, tag
from tclab.render.job import tables, words
from tclab.render.options import Options
from tclab.render.report import findings

T = TypeVar("T")

#: The most rows of a table in a terminal, and the most findings.
_MOST_ROWS, _MOST_FINDINGS = 8, 8
#: The number of a profile's kernels that the page shows open; the other kernels are in a fold.
_MOST_OPEN = 12
_FOLDED = ("library-compiles", "other-kernels")
_COLUMNS = ("kernel", "times", "time", "share", "compile", "lines", "function", "line", "seconds")


def html(job: Job) -> str:
    """Return the job as a page: the findings, then the tables behind them."""
    options = Options()
    lead = tag("p", tag("strong", esc(words.verdict(job))), class_="explain-lead")
    found = findings.html(job.findings, options) or tag("p", esc("Nothing to act on was found."))
    sections = [(name, title, list(shown)) for name, title, shown in _sections(job)]
    links = (
        tag("li", tag("a", esc(title), href=f"#{name}")) for name, title, shown in sections if shown
    )
    contents = tag("nav", tag("ul", *links, class_="explain-contents"), aria_label="Contents")
    drawn = [_draw_section(*section, options) for section in sections if section[2]]
    remarks = [tag("li", esc(remark)) for remark in job.remarks]
    notes = [tag("ul", *remarks, class_="explain-warnings")] if remarks else []
    return standalone.page(words.title(job), join([lead, found, contents, *drawn, *notes]))


def _sections(job: Job) -> Iterator[tuple[str, str, Iterator[Artifact]]]:
    """Yield (id, title, artifacts) of each section."""
    yield "kernels", "What the GPU ran", chain.from_iterable(map(_split, job.profiles))
    yield (
        "compiles",
        "What was compiled",
        _with_rows(
            tables.compiles(job.processes, own=True), tables.compiles(job.processes, own=False)
        ),
    )
    yield "breaks", "Graph breaks", _remove_repeats(p.breaks for p in job.processes if p.breaks)
    yield (
        "recompiles",
        "Recompiles",
        (
            replace(p.recompiles, title=f"Recompiles of {p.name}")
            for p in job.processes
            if p.recompiles.recompiles
        ),
    )
    yield "caches", "Caches", _with_rows(tables.caches(job.processes))
    yield "graphs", "Graphs", _with_rows(tables.graphs(job.processes))
    yield "times", "Compile time", _with_rows(tables.phases(job.processes))
    yield "processes", "Processes", _with_rows(tables.records(job))


def _split(profile: DeviceProfile) -> Iterator[Table]:
    """Yield the table of the longest kernels, with the sum of all, and the table of the others."""
    table = tables.kernels(profile)
    *rows, whole = table.rows
    yield replace(table, rows=(*rows[:_MOST_OPEN], whole))
    if rest := rows[_MOST_OPEN:]:
        title = f"{parts.count(len(rest), 'more kernel')} of {profile.name}"
        yield replace(table, title=title, name="other-kernels", rows=tuple(rest))


def _remove_repeats(artifacts: Iterable[Artifact]) -> Iterator[Artifact]:
    """Yield each artifact once, because ranks often have equal graph breaks."""
    seen: list[Artifact] = []
    for artifact in artifacts:
        if artifact not in seen:
            seen.append(artifact)
            yield artifact


def _with_rows(*all_tables: Table) -> Iterator[Artifact]:
    return (table for table in all_tables if table.rows)


def _draw_section(name: str, title: str, shown: list[Artifact], options: Options) -> Html:
    drawn = []
    for number, artifact in enumerate(shown):
        inner = render.html(artifact, options.for_part(name, number))
        box = tag("div", inner, class_="tclab")
        folded = artifact.name in _FOLDED
        drawn.append(parts.fold(artifact.title, box) if folded else box)
    return tag("section", tag("h2", esc(title), id=name), join(drawn))


def text(job: Job) -> str:
    """Return the first screen of the job: the verdict, the findings, the longest kernels."""
    lines = [words.title(job), words.verdict(job), ""]
    lines += findings.lines(job.findings[:_MOST_FINDINGS])
    if more := len(job.findings) - _MOST_FINDINGS:
        lines += [f"and {parts.count(more, 'more finding')}"] if more > 0 else []
    for profile in job.profiles:
        lines += ["", render.text(_head(tables.kernels(profile)))]
    own = tables.compiles(job.processes, own=True)
    if own.rows:
        lines += ["", render.text(_head(own))]
    lines += ["", *job.remarks] if job.remarks else []
    return "\n".join(lines) + "\n"


def _head(table: Table) -> Table:
    """Return the first rows of a table, with the columns that fit into a terminal."""
    kept = [at for at, column in enumerate(table.columns) if column in _COLUMNS]

    def pick(cells: Sequence[T]) -> tuple[T, ...]:
        return tuple(cells[at] for at in kept if at < len(cells))

    rows = tuple(pick(row) for row in table.rows[:_MOST_ROWS])
    return replace(table, columns=pick(table.columns), rows=rows, units=pick(table.units),
                   formats=pick(table.formats))  # fmt: skip
