"""Kernels: what Inductor fused, and the code it wrote for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tclab.render import columns, excerpt, parts
from tclab.render.escape import NEWLINE, Html, clean, join
from tclab.render.kinds import listing
from tclab.render.options import FOLD_LINES
from tclab.render.viewer import facts

if TYPE_CHECKING:
    from tclab.model import Kernel
    from tclab.render.options import Options


def html(artifact: Kernel, options: Options) -> Html:
    """Facts, then the code: of a Triton kernel its function, imports and decorators folded."""
    own = _function(artifact)
    known = parts.facts(facts.pairs(artifact, options))
    # The newline keeps a word apart from a script's button.
    return join([known, listing.html(artifact, options, own)], NEWLINE)


def _function(artifact: Kernel) -> list[excerpt.Range]:
    """Where the kernel's function stands in a file of Python, if it is not long itself."""
    if artifact.language != "python" or not artifact.kernel_name:
        return []
    shift = artifact.first_line - 1
    ranges = excerpt.function(artifact.code, artifact.kernel_name)
    return [(a + shift, b + shift) for a, b in ranges if b - a < FOLD_LINES]


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
