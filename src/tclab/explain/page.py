"""A report as one HTML page that stands alone, and as text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tclab import render
from tclab.explain.report import Report
from tclab.model import Artifact, Run
from tclab.render import standalone
from tclab.render.escape import esc, one_line, tag
from tclab.render.stamp import pieces

_STYLE = """<style>
.explain-refusal { border-left: .3em solid var(--tclab-bad); padding: .2em 1em; margin: 1em 0; }
.explain-contents { display: flex; flex-wrap: wrap; gap: .3em 1.2em; padding: 0;
  list-style: none; }
.explain-chain > summary { cursor: pointer; font-weight: 600; padding: .4em 0; }
</style>"""


def html(shown: Report) -> str:
    """The whole page."""
    sections = list(_sections(shown))
    links = "".join(f'<li><a href="#{ident}">{esc(title)}</a></li>' for ident, title, _ in sections)
    contents = tag("ul", links, class_="explain-contents")
    body = "".join(
        tag("section", tag("h2", esc(title), id=ident) + inner) for ident, title, inner in sections
    )
    head = f"{_STYLE}{_how(shown)}{_refusal(shown)}{tag('nav', contents, aria_label='Contents')}"
    return standalone.page(_title(shown), head + body + _stamp(shown))


def _title(shown: Report) -> str:
    return f"{one_line(shown.title)}: what torch.compile makes of it"


def _how(shown: Report) -> str:
    """What was called, how often, for which device."""
    device = f"for {shown.target}, which need not be here" if shown.target else "on this machine"
    backward = " and differentiated" if shown.backward else ""
    items = "".join(tag("li", tag("code", esc(call or "no arguments"))) for call in shown.calls)
    remarks = "".join(tag("p", esc(text)) for text in shown.remarks)
    said = tag("p", f"Compiled {esc(device)}, called{backward} with:")
    return said + tag("ol", items) + remarks


def refusal_text(shown: Report) -> str:
    """What the target refused; '' if nothing."""
    if not shown.refusal:
        return ""
    kept = "The stages above machine code are there." if shown.has_kernels else (
        "Graph breaks, guards and graphs are those of a compile here, up to Dynamo."
    )  # fmt: skip
    return f"{shown.refusal[0]}: {shown.refusal[1]}. {kept}"


def _refusal(shown: Report) -> str:
    if not shown.refusal:
        return ""
    inner = tag("p", tag("strong", f"Not exact for {esc(shown.target)}, so not shown."))
    inner += tag("p", esc(refusal_text(shown))) + tag("p", f"Next: {esc(shown.refusal[2])}")
    return tag("div", inner, class_="explain-refusal", role="alert")


# --------------------------------------------------------------------------- sections


def _sections(shown: Report) -> Iterator[tuple[str, str, str]]:
    """Id, title and HTML of each section that has something to say."""
    prefixes = _prefixes(shown)
    yield "summary", "Summary", _plain(shown.summary, "counts", prefixes)
    if shown.sources:
        yield "source", "Your source", _sources(shown, prefixes)
    yield "breaks", "Graph breaks", _plain(shown.breaks, "break", prefixes)
    if shown.recompiles.recompiles:
        yield "recompiles", "Recompiles", _plain(shown.recompiles, "recompile", prefixes)
    if shown.symbols.symbols:
        yield "symbols", "Symbols", _plain(shown.symbols, "symbol", prefixes)
    if shown.guards:
        yield "guards", "Guards", _guards(shown, prefixes)
    if shown.chains:
        yield "chains", "From Python to the machine", _chains(shown)
    yield "times", "Compile time", _plain(shown.times, "time", prefixes)


def _prefixes(shown: Report) -> dict[str, str]:
    """File → the prefix of its lines' anchors."""
    files = dict.fromkeys(source.filename for source in shown.sources)
    return {file: f"file{number}" for number, file in enumerate(files)}


def _plain(artifact: Artifact, prefix: str, prefixes: dict[str, str]) -> str:
    return tag("div", render.html(artifact, prefix=prefix, sources=prefixes), class_="tclab")


_LEGEND = (
    "A bar marks the lines that are in a graph, the number beside it says in which. "
    "Specialised: the compiled code holds for this value or size only, and a guard checks it."
)


def _sources(shown: Report, prefixes: dict[str, str]) -> str:
    out = [tag("p", esc(_LEGEND))]
    for source in shown.sources:
        out.append(tag("h3", esc(source.title)))
        body = render.html(source, prefix=prefixes[source.filename])
        out.append(tag("div", body, class_="tclab"))
    return "".join(out)


def _guards(shown: Report, prefixes: dict[str, str]) -> str:
    out = []
    for number, guards in enumerate(shown.guards):
        table = replace(guards, tree="")  # as long again; the JSON has it
        body = render.html(table, prefix=f"guards{number}", sources=prefixes)
        head = tag("summary", esc(f"{guards.title}, {len(guards)} guards"))
        out.append(tag("details", head + body, class_="tclab-fold"))
    return tag("div", "".join(out), class_="tclab")


def _chains(shown: Report) -> str:
    """The first chain open, the others folded."""
    out = []
    for number, chain in enumerate(shown.chains):
        body = render.html(chain, prefix=f"chain{number}")
        head = tag("summary", esc(one_line(f"Graph {number}: {chain.title}")))
        out.append(tag("details", head + tag("div", body, class_="tclab"), class_="explain-chain",
                       open=number == 0))  # fmt: skip
    return "".join(out)


def _stamp(shown: Report) -> str:
    spans = "".join(tag("span", esc(piece)) for piece in stamp(shown))
    return tag("p", spans, class_="tclab-stamp")


def stamp(shown: Report) -> list[str]:
    """Which PyTorch, which device, which day."""
    made = Run("explain", "here", "", "", shown.provenance, 0.0, 0)
    target = [f"code for {shown.target}"] if shown.target else []
    return pieces(made)[:-2] + target  # neither seconds nor where: this very machine, just now


# --------------------------------------------------------------------------- text


def text(shown: Report) -> str:
    """The report for a terminal or a file: all but the listings of the chains."""
    artifacts: list[Artifact] = [shown.summary, *shown.sources, shown.breaks]
    artifacts += [a for a in (shown.recompiles, shown.symbols) if len(a)]
    artifacts += [*shown.guards, *shown.chains, shown.times]
    head = [_title(shown)]
    head += [f"call {n}: {call or 'no arguments'}" for n, call in enumerate(shown.calls, 1)]
    head += list(shown.remarks)
    if shown.refusal:
        head.append(f"refused for {shown.target}: {refusal_text(shown)}")
        head.append(f"  next: {shown.refusal[2]}")
    shown_artifacts = [render.text(artifact) for artifact in artifacts]
    return "\n\n".join(["\n".join(head), *shown_artifacts, " · ".join(stamp(shown))]) + "\n"
