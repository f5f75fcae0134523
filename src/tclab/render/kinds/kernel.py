"""Kernels: what Inductor fused, and the code it wrote for it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tclab.render import columns, excerpt, parts, stages
from tclab.render.escape import NEWLINE, Html, clean, join
from tclab.render.kinds import listing
from tclab.render.viewer import facts

if TYPE_CHECKING:
    from tclab.model import Kernel
    from tclab.render.options import Options


def html(artifact: Kernel, options: Options) -> Html:
    """Facts, then the code: of a Triton kernel its function, imports and decorators folded. Where
    the kernel itself is to be folded, all of that is in the fold.
    """
    own = _function(artifact)
    known = parts.facts(facts.pairs(artifact, options))
    shown = replace(options, fold=None) if options.fold else options
    # The newline keeps a word apart from a script's button.
    body = join([known, listing.html(artifact, shown, own)], NEWLINE)
    if not options.fold:
        return body
    language = stages.language(artifact.stage, artifact.language)
    return parts.fold(parts.size(parts.line_count(artifact.code), language), body)


def _function(artifact: Kernel) -> list[excerpt.Range]:
    """Where the kernel's function stands in a file of Python, if it is not long itself."""
    if artifact.language != "python" or not artifact.kernel_name:
        return []
    shift = artifact.first_line - 1
    ranges = excerpt.function(artifact.code, artifact.kernel_name)
    return [(a + shift, b + shift) for a, b in ranges if b - a < parts.PAPER_LINES]


def text(artifact: Kernel) -> str:
    """Facts a line each, then the code."""
    known = {
        "kernel": artifact.kernel_name,
        "category": artifact.category,
        "device": artifact.device,
        "computes": ", ".join(artifact.origins),
        "from": ", ".join(dict.fromkeys(map(str, artifact.source_lines))),
        **facts.words(artifact.facts),
    }
    rows = [columns.paragraph(f"{k}: {v}", "  ", "    ") for k, v in known.items() if v]
    head = columns.heading(artifact.title, artifact.filename)
    return columns.join(head, *rows, clean(artifact.code).rstrip("\n"))
