"""A whole run: its artifacts, each stamped, and how it failed if it did."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tclab.render import columns, highlight, kinds, parts, stamp
from tclab.render.escape import clean, esc, tag

if TYPE_CHECKING:
    from tclab.model import Artifact, Run, Snippet
    from tclab.render.options import Options


def figure(artifact: Artifact, run: Run | None, options: Options) -> str:
    """An artifact with its title above and its run's stamp beneath."""
    if run is not None and not options.torch_git:
        options = replace(options, torch_git=run.provenance.torch_git)
    title = esc(artifact.title)
    head = tag("figcaption", title, class_="tclab-title") if title else ""
    body = kinds.html(artifact, options) + (stamp.html(run) if run is not None else "")
    return tag(
        "figure",
        head + body,
        class_=f"tclab tclab-is-{artifact.kind}",
        id=options.prefix or None,
        data_kind=artifact.kind,
    )


def source(snippet: Snippet, options: Options, lines: tuple[int, int] | None = None) -> str:
    """The snippet's code; line 12 has the anchor ``{prefix}-L12``. `lines` are inclusive."""
    first, last = lines or (1, snippet.source.count("\n") + 1)
    code = "\n".join(clean(snippet.source).split("\n")[first - 1 : last])
    name = f"{snippet.name}.py"
    body = highlight.block(
        code, "python", options, first_line=first, numbers=True, label=name, stage="python"
    )
    body = parts.folded(body, name, parts.line_count(code), options)
    return tag("div", body, class_="tclab tclab-source")


def output(run: Run, options: Options) -> str:
    """What the run printed."""
    pieces = []
    for name, said in (("Output", run.stdout), ("Errors", run.stderr), ("Raised", run.raised)):
        if said.strip():
            body = highlight.block(said, "text", options, anchors=False, label=name)
            body = parts.folded(body, name, parts.line_count(said), options)
            head = tag("p", name, class_="tclab-filename")
            pieces.append(head + body)
    return tag("div", "".join(pieces), class_="tclab tclab-output") if pieces else ""


def failure(run: Run) -> str:
    """How a run failed, in words; '' where it did not."""
    if run.failure is None:
        return ""
    where = f"{run.failure.location}: " if run.failure.location else f"{run.snippet}: "
    return f"{where}{run.failure.cause}: {run.failure.message}"


def html(run: Run, options: Options) -> str:
    """Every artifact in order, each stamped; a failed run says so first."""
    pieces = []
    if run.failure is not None:
        said = tag("p", esc(failure(run)), role="alert")
        trace = highlight.block(run.failure.traceback, "pytb", options, anchors=False)
        pieces.append(tag("div", said + trace, class_="tclab-failure"))
    for number, artifact in enumerate(run.artifacts, 1):
        pieces.append(figure(artifact, run, options.under(artifact.name or number)))
    return "".join(pieces)


def text(run: Run) -> str:
    """The run for a terminal: printed text, artifacts, stamp."""
    pieces = [clean(run.stdout).rstrip(), clean(run.stderr).rstrip()]
    pieces += [kinds.text(a) for a in run.artifacts]
    if run.raised:
        pieces.append("Raised, as declared:\n" + clean(run.raised).rstrip())
    if run.failure is not None:
        trace = clean(run.failure.traceback).rstrip()
        pieces.append(columns.join("FAILED " + columns.paragraph(failure(run)), trace))
    return "\n\n".join([p for p in pieces if p] + [stamp.text(run)])
