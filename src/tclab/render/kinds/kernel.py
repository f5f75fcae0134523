"""Kernels: what Inductor fused, and the code it wrote for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tclab.render import columns, excerpt, parts
from tclab.render.escape import clean, esc
from tclab.render.kinds import listing
from tclab.render.options import FOLD_LINES, Options, place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tclab.model import Kernel


def _facts(kernel: Kernel, options: Options) -> Iterator[tuple[str, str]]:
    yield "kernel", parts.code(kernel.kernel_name) if kernel.kernel_name else ""
    yield "category", esc(kernel.category.replace("_", " "))
    yield "device", esc(kernel.device)
    yield "computes", ", ".join(parts.code(o) for o in kernel.origins)
    lines = list(dict.fromkeys(place(s, options) for s in kernel.source_lines))
    yield "from", ", ".join(lines)
    for name, value in kernel.facts.items():
        yield name, esc(value)


def facts(kernel: Kernel, options: Options) -> str:
    """What is known of a kernel, as a definition list."""
    return parts.facts(_facts(kernel, options))


def html(artifact: Kernel, options: Options) -> str:
    """Facts, then the code: of a Triton kernel its function, imports and decorators folded."""
    own = _function(artifact)
    return facts(artifact, options) + listing.html(artifact, options, own)


def _function(artifact: Kernel) -> list[excerpt.Range]:
    """Where the kernel's function stands in a file of Python, if it is not long itself."""
    if artifact.language != "python" or not artifact.kernel_name:
        return []
    shift = artifact.first_line - 1
    found = excerpt.function(artifact.code, artifact.kernel_name)
    return [(a + shift, b + shift) for a, b in found if b - a < FOLD_LINES]


def text(artifact: Kernel) -> str:
    """Facts a line each, then the code."""
    facts = {
        "kernel": artifact.kernel_name,
        "category": artifact.category,
        "device": artifact.device,
        "computes": ", ".join(artifact.origins),
        "from": ", ".join(dict.fromkeys(map(str, artifact.source_lines))),
        **artifact.facts,
    }
    rows = [columns.paragraph(f"{k}: {v}", "  ", "    ") for k, v in facts.items() if v]
    head = columns.heading(artifact.title, artifact.filename)
    return columns.join(head, *rows, clean(artifact.code).rstrip("\n"))
