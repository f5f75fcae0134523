"""Render a job as one HTML file, and as text for a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from tclab import render
from tclab.model import DeviceProfile, Job, Table
from tclab.render import parts, standalone
from tclab.render.escape import NOTHING, Html, clean, esc, join, tag
from tclab.render.job import breaks, replays, stages, tables, words
from tclab.render.kinds import table as drawn_table
from tclab.render.options import Options
from tclab.render.report import findings

#: The most bytes of compiles, stage by stage, in one file. The rest of a page takes less than 2 MB,
#: and a file of more than 20 MB opens slowly.
MOST_BYTES = 18_000_000
#: A terminal shows at most this number of rows of a table, and of findings. It shows only these
#: columns.
_MOST_ROWS, _MOST_FINDINGS = 8, 8
_COLUMNS = ("kernel", "times", "time", "share", "compile", "lines", "function", "line", "seconds")
#: A table shows this number of rows at first, and folds the others if they are at least this many.
_MOST_OPEN, _LEAST_FOLDED = 12, 4
_MOST_REMARKS = 12
#: The beginning of the name of a table that is folded.
_FOLDED_PREFIX = "other-"
#: Section → its CSS class: long names of kernels may break anywhere, and guards need room.
_CLASSES = {
    **dict.fromkeys(("kernels", "machine"), "explain-kernels"),
    "recompiles": "explain-last-wide",
}


def html(job: Job) -> str:
    """Return the job as one page: the findings, then the tables behind them."""
    ((_, text),) = files(job, "", most_bytes=sys.maxsize)
    return text


def files(job: Job, name: str, *, most_bytes: int = MOST_BYTES) -> Iterator[tuple[str, str]]:
    """Yield the page under its file `name`. If its compiles, stage by stage, take more than
    `most_bytes`, the last of them follow in files of their own, with their paths beside the page.
    """
    folds = stages.draw_folds(job.stages, Options("stages"))
    groups = list(_split_by_size(folds, most_bytes)) or [[]]
    folder = name.removesuffix(".html") + "-stages"
    paths = ["", *(f"{folder}/{number}.html" for number in range(2, len(groups) + 1))]
    links = stages.addresses(list(zip(paths, groups)))
    others = [tag("li", tag("a", esc(_span(group)), href=path))
              for path, group in zip(paths[1:], groups[1:])]  # fmt: skip
    more = tag("ul", *others) if others else NOTHING
    yield name, _draw_page(job, join([stages.section(groups[0]), more]), links)
    for path, group in zip(paths[1:], groups[1:]):
        back = tag("p", tag("a", esc("Back to the job"), href=f"../{name}"))
        title = f"{words.title(job)}: {_span(group)}"
        yield path, standalone.page(title, join([back, stages.section(group)]))


def _span(folds: Sequence[stages.Fold]) -> str:
    first, last = folds[0].stages, folds[-1].stages
    return f"compiles {first.compiles[0]} to {last.compiles[-1]}"


def _split_by_size(
    folds: Sequence[stages.Fold], most_bytes: int
) -> Iterator[Sequence[stages.Fold]]:
    """Split the folds into groups of at most `most_bytes`, or of one fold."""
    group: list[stages.Fold] = []
    left = most_bytes
    for fold in folds:
        left -= len(fold.html)
        if group and left < 0:
            yield group
            group, left = [], most_bytes - len(fold.html)
        group.append(fold)
    if group:
        yield group


def _draw_page(job: Job, folds: Html, links: Mapping[str, str]) -> str:
    lead = tag("p", tag("strong", esc(words.summary(job))), class_="explain-lead")
    found = findings.html(job.findings, Options()) or tag("p", esc(words.NOTHING_FOUND))
    drawn = [each for each in _sections(job, folds, links) if each[2]]
    contents_links = [tag("li", tag("a", esc(title), href=f"#{name}")) for name, title, _ in drawn]
    contents_list = tag("ul", *contents_links, class_="explain-contents")
    contents = tag("nav", contents_list, aria_label="Contents")
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


def _sections(job: Job, folds: Html, links: Mapping[str, str]) -> Iterator[tuple[str, str, Html]]:
    """Yield the id, the title and the HTML of each section. The HTML of a section with nothing to
    show is ''. `folds` are the compiles stage by stage, to which `links` lead.
    """
    of, options = job.processes, Options()

    def draw(name: str, *shown: Table) -> Html:
        pieces = chain.from_iterable(map(_split_table, shown))
        numbered = ((options.for_part(name, n), table) for n, table in enumerate(pieces))
        return join(_draw(table, own, links) for own, table in numbered if table.rows)

    yield "kernels", "What the GPU ran", draw("kernels", *map(tables.kernels, _with_kernels(job)))
    own, others = (tables.compiles(of, own=own) for own in (True, False))
    yield (
        "compiles",
        "What was compiled",
        draw("compiles", own, _mark_folded(others, bool(own.rows))),
    )
    plain = replace(options.for_part("machine"), plain=True)
    compiled = stages.machine_code(job.machine_code, plain)
    yield (
        "machine",
        "Kernels, down to the machine",
        join([draw("machine", tables.machine_code(job.machine_code)), compiled]),
    )
    yield (
        "replays",
        "Compiled again from the trace",
        join(
            [
                draw("replays", replays.table(job.replays)),
                replays.html(job.replays),
                stages.replays(job.replays, options.for_part("replayed")),
            ]
        ),
    )
    yield "upgrade", "Under another PyTorch", draw("upgrade", *job.upgrade)
    yield "stages", "Stage by stage", folds
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


def _draw(table: Table, options: Options, links: Mapping[str, str]) -> Html:
    drawn = drawn_table.html(table, replace(options, fold=False), links=links)
    box = tag("div", drawn, class_="tclab")
    return parts.fold(table.title, box) if table.name.startswith(_FOLDED_PREFIX) else box


def text(job: Job) -> str:
    """Return the first screen of the job: the verdict, the findings, the longest kernels."""
    lines = [words.title(job), words.summary(job), ""]
    lines += (
        findings.lines(job.findings[:_MOST_FINDINGS]) if job.findings else [words.NOTHING_FOUND]
    )
    if more := len(job.findings) - _MOST_FINDINGS:
        lines += [f"and {parts.count(more, 'more finding')}"] if more > 0 else []
    for profile in _with_kernels(job):
        lines += ["", render.text(_first_rows(tables.kernels(profile)))]
    if job.machine_code:
        lines += ["", render.text(tables.machine_code(job.machine_code))]
    if job.replays:
        lines += ["", render.text(replays.table(job.replays))]
    for table in job.upgrade:
        lines += ["", render.text(table)]
    own = tables.compiles(job.processes, own=True)
    if own.rows:
        lines += ["", render.text(_first_rows(own))]
    if job.remarks:
        lines += ["", *job.remarks[:_MOST_REMARKS]]
        lines += (
            [f"and {more} more remarks"] if (more := len(job.remarks) - _MOST_REMARKS) > 0 else []
        )
    return clean("\n".join(lines)) + "\n"


def _with_kernels(job: Job) -> list[DeviceProfile]:
    """Return the profiles with something that a GPU ran."""
    return [profile for profile in job.profiles if profile.kernels]


def _first_rows(table: Table) -> Table:
    """Return the first rows of a table, with only the columns that fit into a terminal."""
    kept = [at for at, column in enumerate(table.columns) if column in _COLUMNS]
    whole = table.rows[_MOST_ROWS:][-1:] if table.name == "kernels" else ()  # the sum of all
    rows = (*table.rows[:_MOST_ROWS], *whole)
    return tables.pick_columns(replace(table, rows=rows), kept)
