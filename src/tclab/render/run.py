"""A whole run: its artifacts, each stamped, and how it failed if it did."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tclab.render import columns, excerpt, highlight, kinds, parts, stamp
from tclab.render.escape import NOTHING, Html, clean, esc, join, tag

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tclab.model import Artifact, Run, Snippet
    from tclab.render.options import Options


def figure(
    artifact: Artifact,
    run: Run | None,
    options: Options,
    *,
    titled: bool = True,
    stamped: bool = True,
) -> Html:
    """An artifact with its title above and its run's stamp beneath, unless told otherwise."""
    if run is not None and not options.torch_git:
        options = replace(options, torch_git=run.provenance.torch_git)
    title = parts.breakable(artifact.title) if titled else NOTHING
    head = tag("figcaption", title, class_="tclab-title") if title else NOTHING
    foot = stamp.html(run) if run is not None and stamped else NOTHING
    return tag(
        "figure",
        head,
        kinds.html(artifact, options),
        foot,
        class_=f"tclab tclab-is-{artifact.kind}",
        id=options.prefix or None,
        data_kind=artifact.kind,
    )


def source(
    snippet: Snippet,
    options: Options,
    lines: excerpt.Range | None = None,
    focus: Sequence[excerpt.Range] = (),
) -> Html:
    """The snippet's code; line 12 has the anchor ``{prefix}-L12``. `lines` are inclusive.

    What is outside the ranges of `focus` is folded; without any, all is shown if it is short.
    """
    first, last = lines or (1, parts.line_count(snippet.source))
    code = "\n".join(clean(snippet.source).split("\n")[first - 1 : last]) + "\n"
    body = excerpt.html(
        code, "python", options, focus or [(first, last)],
        first_line=first, numbers=True, label=f"{snippet.name}.py", stage="python",
    )  # fmt: skip
    if not focus:
        body = parts.folded(body, "Python", last - first + 1, options)
    return tag("div", body, class_="tclab tclab-source")


def output(run: Run, options: Options) -> Html:
    """What the run printed."""
    pieces = []
    for name, said in (("Output", run.stdout), ("Errors", run.stderr), ("Raised", run.raised)):
        if said.strip():
            body = highlight.block(said, "text", options, anchors=False, label=name)
            body = parts.folded(body, "", parts.line_count(said), options)
            pieces += [tag("p", esc(name), class_="tclab-filename"), body]
    return tag("div", *pieces, class_="tclab tclab-output") if pieces else NOTHING


def failure(run: Run) -> str:
    """How a run failed, in words; '' where it did not."""
    if run.failure is None:
        return ""
    where = f"{run.failure.location}: " if run.failure.location else f"{run.snippet}: "
    return f"{where}{run.failure.cause}: {run.failure.message}"


def html(run: Run, options: Options) -> Html:
    """Every artifact in order, the stamp at the end; a failed run says so first."""
    pieces = []
    if run.failure is not None:
        said = tag("p", esc(failure(run)), role="alert")
        trace = highlight.block(run.failure.traceback, "pytb", options, anchors=False)
        pieces.append(tag("div", said, trace, class_="tclab-failure"))
    for number, artifact in enumerate(run.artifacts, 1):
        own = options.under(artifact.name or number)
        pieces.append(figure(artifact, run, own, stamped=False))
    return join([*pieces, stamp.html(run)])


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
