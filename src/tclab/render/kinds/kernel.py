"""Kernels: what Inductor fused, and the code it wrote for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tclab.render import columns, parts
from tclab.render.escape import clean
from tclab.render.kinds import listing
from tclab.render.viewer import facts

if TYPE_CHECKING:
    from tclab.model import Kernel
    from tclab.render.options import Options


def html(artifact: Kernel, options: Options) -> str:
    """Facts, then the code."""
    return parts.facts(facts.pairs(artifact, options)) + listing.html(artifact, options)


def text(artifact: Kernel) -> str:
    """Facts a line each, then the code."""
    known = {
        "kernel": artifact.kernel_name,
        "category": artifact.category,
        "device": artifact.device,
        "computes": ", ".join(artifact.origins),
        "from": ", ".join(dict.fromkeys(map(str, artifact.source_lines))),
        **artifact.facts,
    }
    rows = [columns.paragraph(f"{k}: {v}", "  ", "    ") for k, v in known.items() if v]
    head = columns.heading(artifact.title, artifact.filename)
    return columns.join(head, *rows, clean(artifact.code).rstrip("\n"))
