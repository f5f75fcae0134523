"""Render a whole run: its artifacts, stamp and output, and its failure if it failed."""

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
    """Return an artifact with its title above (if `titled`) and its run's stamp below (if
    `stamped`).
    """
    if run is not None and not options.torch_git:
        options = replace(options, torch_git=run.provenance.torch_git)
    title = parts.allow_underscore_breaks(artifact.title) if titled else NOTHING
    head = tag("figcaption", title, class_="tclab-title") if title else NOTHING
    footer = stamp.html(run) if run is not None and stamped else NOTHING
    return tag(
        "figure",
        head,
        kinds.html(artifact, options),
        footer,
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
    """Return the snippet's code; line 12 has the anchor ``{prefix}-L12``. `lines` are the first and
    last line to show.

    Lines outside of the ranges in `focus` are folded; without a focus, all code is folded if it
    is long.
    """
    first, last = lines or (1, parts.line_count(snippet.source))
    code = "\n".join(clean(snippet.source).split("\n")[first - 1 : last]) + "\n"
    body = excerpt.html(
        code, "python", options, focus or [(first, last)],
        first_line=first, numbers=True, label=f"{snippet.name}.py", stage="python",
    )  # fmt: skip
    if not focus:
        body = parts.fold_if_long(body, "Python", last - first + 1, options)
    return tag("div", body, class_="tclab tclab-source")


def output(run: Run, options: Options) -> Html:
    """Return a block with what the run printed, and a block with the error that it raised."""
    pieces = []
    for name, printed in (("Output", run.stdout), ("Errors", run.stderr), ("Raised", run.raised)):
        if printed.strip():
            body = highlight.block(printed, "text", options, anchors=False, label=name)
            body = parts.fold_if_long(body, "", parts.line_count(printed), options)
            pieces += [tag("p", esc(name), class_="tclab-filename"), body]
    return tag("div", *pieces, class_="tclab tclab-output") if pieces else NOTHING


def failure_text(run: Run) -> str:
    """Return place, cause and message of a run's failure; '' if it did not fail."""
    if run.failure is None:
        return ""
    where = f"{run.failure.location}: " if run.failure.location else f"{run.snippet}: "
    return f"{where}{run.failure.cause}: {run.failure.message}"


def html(run: Run, options: Options) -> Html:
    """Return the failure if there is one, every artifact in order, and the stamp."""
    pieces = []
    if run.failure is not None:
        message = tag("p", esc(failure_text(run)), role="alert")
        traceback = highlight.block(run.failure.traceback, "pytb", options, anchors=False)
        pieces.append(tag("div", message, traceback, class_="tclab-failure"))
    for number, artifact in enumerate(run.artifacts, 1):
        artifact_options = options.for_part(artifact.name or number)
        pieces.append(figure(artifact, run, artifact_options, stamped=False))
    return join([*pieces, stamp.html(run)])


def text(run: Run) -> str:
    """Return the run as text for a terminal: printed text, artifacts, stamp."""
    pieces = [clean(run.stdout).rstrip(), clean(run.stderr).rstrip()]
    pieces += [kinds.text(artifact) for artifact in run.artifacts]
    if run.raised:
        pieces.append("Raised, as declared:\n" + clean(run.raised).rstrip())
    if run.failure is not None:
        traceback = clean(run.failure.traceback).rstrip()
        pieces.append(columns.join("FAILED " + columns.paragraph(failure_text(run)), traceback))
    return "\n\n".join([piece for piece in pieces if piece] + [stamp.text(run)])
