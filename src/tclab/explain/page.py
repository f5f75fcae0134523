"""A report as one HTML page that stands alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from tclab import render
from tclab.explain import kernels, plain, summary
from tclab.explain.report import Report
from tclab.model import Artifact
from tclab.render import parts, standalone
from tclab.render.escape import esc, one_line, tag
from tclab.render.kinds.chain import MARKED_LINES
from tclab.render.kinds.table import cells, numeric
from tclab.render.options import Options, place

_STYLE = Path(__file__).with_name("report.css")

#: So many calls are written out; a list of a hundred is no summary.
_MOST_CALLS = 6


def html(shown: Report) -> str:
    """The whole page."""
    return standalone.page(plain.title(shown), body(shown))


def body(shown: Report) -> str:
    """The page below its heading."""
    sections = list(_sections(shown))
    links = "".join(f'<li><a href="#{ident}">{esc(title)}</a></li>' for ident, title, _ in sections)
    contents = tag("ul", links, class_="explain-contents")
    head = [standalone.style(_STYLE), _stamp(shown), _verdict(shown), _how(shown), *_alerts(shown)]
    head.append(tag("nav", contents, aria_label="Contents"))
    return "".join(head) + "".join(
        tag("section", tag("h2", esc(title), id=ident) + inner) for ident, title, inner in sections
    )


# --------------------------------------------------------------------------- the top


def _stamp(shown: Report) -> str:
    """Which PyTorch, which device, which day."""
    spans = "".join(tag("span", esc(piece)) for piece in plain.stamp(shown))
    return tag("p", spans, class_="tclab-stamp")


def _verdict(shown: Report) -> str:
    said = tag("strong", esc(summary.verdict(shown.summary, shown.breaks)))
    costs = "".join(tag("li", esc(cost)) for cost in summary.costs(shown.summary, shown.times))
    return tag("p", said, class_="explain-lead") + tag("ul", costs, class_="explain-costs")


def _how(shown: Report) -> str:
    """What was called, how often, for which device."""
    calls = [tag("code", esc(call or "no arguments")) for call in shown.calls[:_MOST_CALLS]]
    more = len(shown.calls) - len(calls)
    listed = ", then ".join(calls) + (f", then {more} more" if more else "")
    said = tag("p", f"{esc(plain.how(shown))} {listed}.", class_="explain-calls")
    return said + "".join(tag("p", esc(text)) for text in shown.remarks)


def _alerts(shown: Report) -> Iterator[str]:
    """What the report lacks."""
    if shown.refusal:
        head = f"Not exact for {shown.target}, so not shown."
        yield _alert(head, plain.refusal(shown), shown.refusal[2])
    if shown.fault:
        yield _alert("The stages are missing.", shown.fault, "please report it, with this page")


def _alert(head: str, cause: str, step: str) -> str:
    inner = tag("p", tag("strong", esc(head)))
    inner += tag("p", esc(cause)) + tag("p", f"Next: {esc(step)}")
    return tag("div", inner, class_="explain-alert", role="alert")


# --------------------------------------------------------------------------- sections


def _sections(shown: Report) -> Iterator[tuple[str, str, str]]:
    """Id, title and HTML of each section that has something to say."""
    prefixes = _prefixes(shown)
    if shown.kernels.rows:
        yield "kernels", "Kernels", _kernels(shown, prefixes)
    if shown.sources:
        yield "source", "Your source", _sources(shown, prefixes)
    yield "breaks", "Graph breaks", _breaks(shown, prefixes)
    if shown.recompiles.recompiles:
        yield "recompiles", "Recompiles", _plain(shown.recompiles, "recompile", prefixes)
    if shown.chains:
        yield "chains", "From Python to the machine", _chains(shown)
    if shown.symbols.symbols:
        yield "symbols", "Symbols", _plain(shown.symbols, "symbol", prefixes)
    if shown.guards:
        yield "guards", "Guards", _guards(shown, prefixes)
    yield "times", "Compile time", _plain(shown.times, "time", prefixes)
    if shown.warnings:
        yield "warnings", "Warnings of other packages", _warnings(shown)


def _prefixes(shown: Report) -> dict[str, str]:
    """File → the prefix of its lines' anchors."""
    files = dict.fromkeys(source.filename for source in shown.sources)
    return {file: f"file{number}" for number, file in enumerate(files)}


def _plain(artifact: Artifact, prefix: str, prefixes: dict[str, str]) -> str:
    return tag("div", render.html(artifact, prefix=prefix, sources=prefixes), class_="tclab")


def _kernels(shown: Report, prefixes: dict[str, str]) -> str:
    """The table of kernels: each name leads to the kernel's code, each line to the source."""
    table, options = kernels.compact(shown.kernels), Options("kernels", sources=prefixes)
    rows = [[esc(cell) if cell != "–" else parts.DASH for cell in row] for row in cells(table)]
    for row, found in zip(rows, kernels.rows(shown.chains)):
        row[0] = tag("a", _name(found.name), href=f"#chain{found.graph}-{found.pane}")
        row[table.columns.index("lines")] = ", ".join(place(x, options) for x in found.lines)
    html = parts.table(table.columns, rows, label="Kernels", right=numeric(table))
    return tag("div", html, class_="tclab explain-kernels")


def _name(text: str) -> str:
    """A kernel's name, which may break after an underscore or a dot."""
    return tag("code", esc(text).replace("_", "_<wbr>").replace(".", ".<wbr>"))


_LEGEND = (
    "A bar marks the lines that are in a graph, the number beside it says in which. "
    "Specialised: the compiled code holds for this value or size only, and a guard checks it."
)


def _sources(shown: Report, prefixes: dict[str, str]) -> str:
    out = [tag("p", esc(_LEGEND))]
    for source in shown.sources:
        out.append(tag("h3", esc(source.title)))
        listing = render.html(source, prefix=prefixes[source.filename])
        out.append(tag("div", listing, class_="tclab"))
    return "".join(out)


def _breaks(shown: Report, prefixes: dict[str, str]) -> str:
    """The breaks; where there are none, how many graphs the recompiles made all the same."""
    if not shown.breaks:
        return tag("p", esc(summary.verdict(shown.summary, shown.breaks)))
    return _plain(shown.breaks, "break", prefixes)


def _guards(shown: Report, prefixes: dict[str, str]) -> str:
    out = []
    for number, guards in enumerate(shown.guards):
        table = replace(guards, tree="")  # as long again; the JSON has it
        listing = render.html(table, prefix=f"guards{number}", sources=prefixes)
        out.append(parts.fold(f"{guards.title}, {len(guards)} guards", listing))
    return tag("div", "".join(out), class_="tclab")


def _chains(shown: Report) -> str:
    """The first chain open, the others folded."""
    lines = sum(parts.line_count(pane.code) for chain in shown.chains for pane in chain.panes)
    light, out = lines > MARKED_LINES, []
    for number, chain in enumerate(shown.chains):
        panes = tag("div", render.html(chain, prefix=f"chain{number}", light=light), class_="tclab")
        head = tag("summary", esc(one_line(f"Graph {number}: {chain.title}")))
        ident = f"graph{number}"
        out.append(tag("details", head + panes, class_="explain-chain", id=ident, open=number == 0))
    return "".join(out)


def _warnings(shown: Report) -> str:
    items = "".join(tag("li", esc(text)) for text in shown.warnings)
    return tag("ul", items, class_="explain-warnings")
