"""A report as HTML: the verdict, the reader's lines with what to do, the stages; then the rest."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import starmap
from typing import TYPE_CHECKING

from tclab.render import parts
from tclab.render.escape import COMMA, NOTHING, Html, breakable, esc, join, markup, one_line, tag
from tclab.render.kinds import (
    annotated,
    breaks,
    candidates,
    chain,
    guards,
    recompiles,
    table,
)
from tclab.render.options import Options, place
from tclab.render.report import counts, graph_symbols, kernels, words

if TYPE_CHECKING:
    from tclab.model import Annotated, KernelRow, Report

#: So many calls are written out; a list of a hundred is no summary.
_MOST_CALLS = 6


def html(report: Report, options: Options) -> Html:
    """Counts, calls, versions and gaps; links to the sections; the sections."""
    options = replace(options, sources=_prefixes(report, options))
    shown, folded = (
        list(_named(of, options)) for of in (_shown(report, options), _folded(report, options))
    )
    head = [_verdict(report), _how(report), _stamp(report), *_alerts(report)]
    links = (
        tag("li", tag("a", esc(title), href=f"#{ident}")) for ident, title, _ in shown + folded
    )
    contents = tag("ul", *links, class_="explain-contents")
    nav = tag("nav", contents, aria_label="Contents")
    return join([*head, nav, *starmap(_section, shown), *starmap(_fold, folded)])


def _prefixes(report: Report, options: Options) -> dict[str, str]:
    """File → the prefix of its lines' anchors."""
    files = dict.fromkeys(source.filename for source in report.sources)
    return {file: options.id(f"file{number}") for number, file in enumerate(files)}


# --------------------------------------------------------------------------- the top


def _stamp(report: Report) -> Html:
    """Which PyTorch, which device, which day."""
    spans = (tag("span", esc(piece)) for piece in words.made_by(report))
    return tag("p", *spans, class_="tclab-stamp")


def _verdict(report: Report) -> Html:
    verdict = tag("p", tag("strong", esc(counts.verdict(report))), class_="explain-lead")
    costs = (tag("li", esc(cost)) for cost in counts.costs(report))
    return join([verdict, tag("ul", *costs, class_="explain-costs")])


def _how(report: Report) -> Html:
    """What was called, how often, for which device."""
    calls = [tag("code", esc(call or "no arguments")) for call in report.calls[:_MOST_CALLS]]
    more = len(report.calls) - len(calls)
    calls += [esc(f"{more} more")] if more else []
    sentence = markup("{} {}.", esc(words.how(report)), join(calls, markup(", then ")))
    remarks = (tag("p", esc(text)) for text in words.remarks(report))
    return join([tag("p", sentence, class_="explain-calls"), *remarks])


def _alerts(report: Report) -> Iterator[Html]:
    """Known faults that it has, and what the report lacks."""
    for advice in report.advisories:
        yield _alert(f"A {words.KNOWN}.", f"{advice}.", advice.workaround)
    if report.refusal:
        head = f"Not exact for {report.target}, so not shown."
        yield _alert(head, words.refusal(report), report.refusal.next_step)
    for gap in report.gaps:
        head = f"A part is not known for {report.target}."
        yield _alert(head, f"{gap.place}: {gap.cause}.", gap.next_step)
    for gap in report.left_out:
        yield _alert("Machine code is left out.", f"{gap.place}: {gap.cause}.", gap.next_step)
    if report.fault:
        yield _alert("The stages are missing.", report.fault, "please report it, with this page")


def _alert(head: str, cause: str, step: str) -> Html:
    lines = tag("strong", esc(head)), esc(cause), esc(f"Next: {step}")
    return tag("div", *(tag("p", line) for line in lines), class_="explain-alert", role="alert")


# --------------------------------------------------------------------------- sections


#: Name, title and HTML; empty where it has nothing to say.
Section = tuple[str, str, Html]


def _named(sections: Iterable[Section], options: Options) -> Iterator[Section]:
    """Those that have something to say, with their ids."""
    return ((options.id(name), title, inner) for name, title, inner in sections if inner)


def _shown(report: Report, options: Options) -> Iterator[Section]:
    yield "source", "Your source", _sources(report, options)
    yield "chains", "From Python to the machine", _chains(report, options)
    yield "kernels", "Kernels", _kernels(report, options)


def _folded(report: Report, options: Options) -> Iterator[Section]:
    yield "breaks", "Graph breaks", _breaks(report, options)
    yield "recompiles", "Recompiles", _recompiles(report, options)
    yield "candidates", "What the GPU would choose among", _candidates(report, options)
    yield "symbols", "Symbols", _own(graph_symbols.html(report, options.under("symbol")))
    yield "guards", "Guards", _guards(report, options)
    times = table.html(report.compile_time.table, options.under("time"))
    yield "times", "Compile time", _own(times)
    yield "warnings", "Warnings of other packages", _warnings(report)


def _section(ident: str, title: str, inner: Html) -> Html:
    return tag("section", tag("h2", esc(title), id=ident), inner)


def _fold(ident: str, title: str, inner: Html) -> Html:
    """A link to what is in a fold opens it."""
    summary = tag("summary", tag("h2", esc(title)))
    return tag("details", summary, tag("section", inner, id=ident), class_="explain-fold")


def _own(html: Html, class_: str = "") -> Html:
    """HTML of another kind of artifact, in its own surroundings; nothing around nothing."""
    return tag("div", html, class_=f"tclab {class_}".strip()) if html else NOTHING


def _kernels(report: Report, options: Options) -> Html:
    """The table of kernels: each name leads to the kernel's code, each line to the source."""
    if not report.kernels:
        return NOTHING
    compact = kernels.compact(report.kernels)
    cells = [[esc(c) if c != "–" else parts.DASH for c in row] for row in table.cells(compact)]
    for row, kernel in zip(cells, report.kernels if report.chains else ()):
        for at, name in enumerate(compact.columns):
            row[at] = _linked(name, kernel, options) or row[at]
    html = parts.table(compact.columns, cells, label="Kernels", right=table.numeric(compact))
    return _own(html, "explain-kernels")


_CANDIDATES = (
    "These kernels have several configurations, by the rule named: a function of "
    "torch._inductor.runtime.triton_heuristics, with the sizes it was told. The GPU would time "
    "them and keep one; the stages below are those of the first. Registers are those of a thread, "
    "shared memory that of a block in bytes; occupancy follows from the limits of {target}."
)


def _candidates(report: Report, options: Options) -> Html:
    """The candidates of each kernel, one under the other: its name and rule stand once."""
    if not report.candidates:
        return NOTHING
    intro = tag("p", esc(_CANDIDATES.format(target=report.target)))
    once = candidates.in_rows(report.candidates, names_once=True)
    return join([intro, _own(table.html(once, options.under("candidate")))])


def _linked(column: str, row: KernelRow, options: Options) -> Html:
    """A cell that leads somewhere; '' for the others."""
    if column == "kernel":
        pane = options.id(f"chain{row.graph}", kernels.pane(row))
        return tag("a", _name(row.name), href=f"#{pane}")
    return join((place(x, options) for x in row.lines), COMMA) if column == "lines" else NOTHING


_BREAKS = re.compile("([_.])")


def _name(text: str) -> Html:
    """A kernel's name, which may break after an underscore or a dot."""
    return tag("code", breakable(text, _BREAKS))


_LEGEND = (
    "A bar marks the lines that are in a graph, the number beside it says in which. "
    "Specialised: the compiled code holds for this value or size only, and a guard checks it; "
    "there is nothing to do unless it changes from call to call."
)


def _sources(report: Report, options: Options) -> Html:
    drawn = (_source(source, options, number) for number, source in enumerate(report.sources))
    return join([*drawn, *[tag("p", esc(_LEGEND), class_="explain-legend")] * bool(report.sources)])


#: Notes that ask for something to be done.
_URGENT = frozenset({"graph break", "skipped", "recompile"})


def _source(source: Annotated, options: Options, number: int) -> Html:
    """A function with its notes; folded where it is not the first and nothing is to be done."""
    lines = replace(options, prefix=options.sources[source.filename])
    html = _own(annotated.html(source, lines), "explain-source")
    if number and _URGENT.isdisjoint(note.label for note in source.notes):
        said = parts.count(len(source.notes), "note")
        return parts.fold(f"{source.title}, {said}, nothing to do", html)
    return join([tag("h3", esc(source.title)), html])


def _breaks(report: Report, options: Options) -> Html:
    return _own(breaks.html(report.breaks, options.under("break"))) if report.breaks else NOTHING


def _recompiles(report: Report, options: Options) -> Html:
    if not report.recompiles.recompiles:
        return NOTHING
    return _own(recompiles.html(report.recompiles, options.under("recompile")))


def _guards(report: Report, options: Options) -> Html:
    out = []
    for number, found in enumerate(report.guards):
        listed = guards.html(replace(found, tree=""), options.under(f"guards{number}"))
        out.append(parts.fold(f"{found.title}, {len(found)} guards", listed))
    return _own(join(out)) if out else NOTHING


def _chains(report: Report, options: Options) -> Html:
    """The first chain open, the others folded."""
    out = []
    for number, each in enumerate(report.chains):
        panes = _own(chain.html(each, options.under(f"chain{number}")))
        head = tag("summary", esc(one_line(f"Graph {number}: {each.title}")))
        ident = options.id(f"graph{number}")
        out.append(tag("details", head, panes, class_="explain-chain", id=ident, open=number == 0))
    return join(out)


def _warnings(report: Report) -> Html:
    items = [tag("li", esc(text)) for text in report.warnings]
    return tag("ul", *items, class_="explain-warnings") if items else NOTHING
