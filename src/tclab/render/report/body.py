"""Render a report as HTML: the verdict, the annotated source, the kernels, the stages, then the
rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import starmap
from typing import TYPE_CHECKING

from tclab.render import parts
from tclab.render.escape import NOTHING, Html, esc, join, markup, one_line, tag
from tclab.render.kinds import (
    annotated,
    breaks,
    candidates,
    chain,
    guards,
    recompiles,
    table,
)
from tclab.render.options import Options
from tclab.render.report import counts, findings, graph_symbols, kernel_section, words

if TYPE_CHECKING:
    from tclab.model import Annotated, Report

#: The most calls that the summary lists.
_MOST_CALLS = 6


def html(report: Report, options: Options) -> Html:
    """Return the summary, links to the sections, and the sections."""
    options = replace(options, sources=_id_prefixes(report, options))
    open_sections, folded_sections = (
        list(_add_ids(sections, options))
        for sections in (_open_sections(report, options), _folded_sections(report, options))
    )
    head = [_draw_verdict(report), _draw_stamp(report), *_draw_alerts(report),
            findings.html(report.findings, options), _draw_calls(report)]  # fmt: skip
    links = (
        tag("li", tag("a", esc(title), href=f"#{ident}"))
        for ident, title, _ in open_sections + folded_sections
    )
    contents = tag("ul", *links, class_="explain-contents")
    nav = tag("nav", contents, aria_label="Contents")
    return join(
        [*head, nav, *starmap(_draw_section, open_sections), *starmap(_draw_fold, folded_sections)]
    )


def _id_prefixes(report: Report, options: Options) -> dict[str, str]:
    """Map each file to the prefix of its lines' ids."""
    files = dict.fromkeys(source.filename for source in report.sources)
    return {file: options.id(f"file{number}") for number, file in enumerate(files)}


# --------------------------------------------------------------------------- the top


def _draw_stamp(report: Report) -> Html:
    """Draw PyTorch, device and day."""
    spans = (tag("span", esc(piece)) for piece in words.provenance_texts(report))
    return tag("p", *spans, class_="tclab-stamp")


def _draw_verdict(report: Report) -> Html:
    verdict = tag("p", tag("strong", esc(counts.summary(report))), class_="explain-lead")
    costs = (tag("li", esc(cost)) for cost in counts.costs(report))
    agreement = tag("p", esc(words.agreement(report.agreement)), class_="explain-agreement")
    found = report.measurement
    texts = filter(None, (words.bound(report.cost), words.measurement(found), words.memory(found)))
    said = [tag("p", esc(text), class_="explain-bound") for text in texts]
    return join([verdict, *said, tag("ul", *costs, class_="explain-costs"), agreement])


def _draw_calls(report: Report) -> Html:
    """Draw the calls, the device and the remarks."""
    calls = [tag("code", esc(call or "no arguments")) for call in report.calls[:_MOST_CALLS]]
    rest = len(report.calls) - len(calls)
    calls += [esc(f"{rest} more")] if rest else []
    sentence = markup("{} {}.", esc(words.calls_text(report)), join(calls, markup(", then ")))
    remarks = (tag("p", esc(text)) for text in words.remarks(report))
    return join([tag("p", sentence, class_="explain-calls"), *remarks])


def _draw_alerts(report: Report) -> Iterator[Html]:
    """Yield an alert for each part that is missing, and was not left out for its length."""
    if report.refusal:
        head = f"Not exact for {report.target}, so not shown."
        yield _draw_alert(head, words.refusal_text(report), report.refusal.next_step)
    for gap in report.gaps:
        head = f"A part is not known for {report.target}."
        yield _draw_alert(head, f"{gap.place}: {gap.cause}.", gap.next_step)
    if report.fault:
        yield _draw_alert(
            "The stages are missing.", report.fault, "please report it, with this page"
        )


def _draw_alert(head: str, cause: str, next_step: str) -> Html:
    lines = tag("strong", esc(head)), esc(cause), esc(f"Next: {next_step}")
    return tag("div", *(tag("p", line) for line in lines), class_="explain-alert", role="alert")


# --------------------------------------------------------------------------- sections


#: (name, title, HTML) of a section; the HTML is empty if there is nothing to show.
Section = tuple[str, str, Html]


def _add_ids(sections: Iterable[Section], options: Options) -> Iterator[Section]:
    """Return the sections that are not empty, each with its id in place of its name."""
    return ((options.id(name), title, inner) for name, title, inner in sections if inner)


def _open_sections(report: Report, options: Options) -> Iterator[Section]:
    yield "source", "Your source", _draw_sources(report, options)
    yield "kernels", "Kernels of a call", kernel_section.html(report, options)
    yield "chains", "From Python to the machine", _draw_chains(report, options)


def _folded_sections(report: Report, options: Options) -> Iterator[Section]:
    yield "breaks", "Graph breaks", _draw_breaks(report, options)
    yield "recompiles", "Recompiles", _draw_recompiles(report, options)
    yield "candidates", "What the GPU would choose among", _draw_candidates(report, options)
    yield "symbols", "Symbols", _wrap_html(graph_symbols.html(report, options.for_part("symbol")))
    yield "guards", "Guards", _draw_guards(report, options)
    times = table.html(report.compile_time.table, options.for_part("time"))
    yield "times", "Compile time", _wrap_html(times)
    yield "warnings", "Warnings of other packages", _draw_warnings(report)


def _draw_section(ident: str, title: str, inner: Html) -> Html:
    return tag("section", tag("h2", esc(title), id=ident), inner)


def _draw_fold(ident: str, title: str, inner: Html) -> Html:
    """Draw a folded section. The id is inside the fold, so that a link to it opens the fold."""
    summary = tag("summary", tag("h2", esc(title)))
    return tag("details", summary, tag("section", inner, id=ident), class_="explain-fold")


def _wrap_html(html: Html, class_: str = "") -> Html:
    """Wrap the HTML of an artifact in an element for the style sheet; '' stays ''."""
    return tag("div", html, class_=f"tclab {class_}".strip()) if html else NOTHING


_CANDIDATES = (
    "These kernels have several configurations, by the rule named: a function of "
    "torch._inductor.runtime.triton_heuristics, with the sizes it was told. The GPU would time "
    "them and keep one; the stages above are those of the first. Registers are those of a thread, "
    "shared memory that of a block in bytes; occupancy follows from the limits of {target}."
)


def _draw_candidates(report: Report, options: Options) -> Html:
    """Draw the candidates of each kernel. Only the first row of a kernel has its name and rule."""
    if not report.candidates:
        return NOTHING
    intro = tag("p", esc(_CANDIDATES.format(target=report.target)))
    candidates_table = candidates.to_table(report.candidates, names_once=True)
    return join([intro, _wrap_html(table.html(candidates_table, options.for_part("candidate")))])


_LEGEND = (
    "A bar marks the lines that are in a graph, the number beside it says in which. "
    "Specialised: the compiled code holds for this value or size only, and a guard checks it; "
    "there is nothing to do unless it changes from call to call."
)


def _draw_sources(report: Report, options: Options) -> Html:
    sources_html = (
        _draw_source(source, options, number) for number, source in enumerate(report.sources)
    )
    return join(
        [*sources_html, *[tag("p", esc(_LEGEND), class_="explain-legend")] * bool(report.sources)]
    )


#: Labels of notes that ask the reader to do something.
_URGENT = frozenset({"graph break", "skipped", "recompile"})


def _draw_source(source: Annotated, options: Options, number: int) -> Html:
    """Draw a function with its notes. The function is folded if it is not the first and no note is
    urgent.
    """
    lines = replace(options, prefix=options.sources[source.filename])
    html = _wrap_html(annotated.html(source, lines), "explain-source")
    if number and _URGENT.isdisjoint(note.label for note in source.notes):
        note_count = parts.count(len(source.notes), "note")
        return parts.fold(f"{source.title}, {note_count}, nothing to do", html)
    return join([tag("h3", esc(source.title)), html])


def _draw_breaks(report: Report, options: Options) -> Html:
    return (
        _wrap_html(breaks.html(report.breaks, options.for_part("break")))
        if report.breaks
        else NOTHING
    )


def _draw_recompiles(report: Report, options: Options) -> Html:
    if not report.recompiles.recompiles:
        return NOTHING
    return _wrap_html(recompiles.html(report.recompiles, options.for_part("recompile")))


def _draw_guards(report: Report, options: Options) -> Html:
    folds = []
    for number, cache_entry in enumerate(report.guards):
        listed = guards.html(replace(cache_entry, tree=""), options.for_part(f"guards{number}"))
        folds.append(parts.fold(f"{cache_entry.title}, {len(cache_entry)} guards", listed))
    return _wrap_html(join(folds)) if folds else NOTHING


def _draw_chains(report: Report, options: Options) -> Html:
    """Draw the chains, the first one open, the others folded; then what was left out of them."""
    folds = []
    for number, chain_artifact in enumerate(report.chains):
        panes = _wrap_html(chain.html(chain_artifact, options.for_part(f"chain{number}")))
        head = tag("summary", esc(one_line(f"Graph {number}: {chain_artifact.title}")))
        ident = options.id(f"graph{number}")
        folds.append(
            tag("details", head, panes, class_="explain-chain", id=ident, open=number == 0)
        )
    return join([*folds, *_draw_left_out(report)])


def _draw_left_out(report: Report) -> Iterator[Html]:
    """Yield the kernels without instructions, in a fold."""
    if not report.left_out:
        return
    items = [tag("li", esc(f"{gap.place}: {gap.cause}.")) for gap in report.left_out]
    step = tag("p", esc(f"Next: {report.left_out[0].next_step}"))
    title = f"Instructions of {parts.count(len(items), 'kernel')} left out"
    yield parts.fold(title, join([tag("ul", *items, class_="explain-warnings"), step]))


def _draw_warnings(report: Report) -> Html:
    items = [tag("li", esc(text)) for text in report.warnings]
    return tag("ul", *items, class_="explain-warnings") if items else NOTHING
