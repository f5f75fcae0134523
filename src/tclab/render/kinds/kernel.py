"""Render kernels: their facts and their code."""

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


#: The facts that are in sight; what the generated code says of itself besides is folded.
_IN_SIGHT = (
    *("kernel", "category", "device", "computes", "from", "fused", "not fused", "bytes moved"),
    *("config", "registers per thread", "spilled bytes", "occupancy"),
)


def html(artifact: Kernel, options: Options) -> Html:
    """Return the facts, then the code. All code of a Triton kernel but its function is folded. With
    `options.fold`, facts and code are in one fold.
    """
    function_range = _find_function(artifact)
    facts_html = _draw_facts(artifact, options)
    listing_options = replace(options, fold=None) if options.fold else options
    # The newline separates the facts from the button that the page's script adds.
    body = join([facts_html, listing.html(artifact, listing_options, function_range)], NEWLINE)
    if not options.fold:
        return body
    language = stages.language(artifact.stage, artifact.language)
    return parts.fold(parts.size_text(parts.line_count(artifact.code), language), body)


def _draw_facts(artifact: Kernel, options: Options) -> Html:
    known = [(name, value) for name, value in facts.fact_pairs(artifact, options) if value]
    in_sight = _IN_SIGHT if options.fold is None else [name for name, _ in known]
    others = [pair for pair in known if pair[0] not in in_sight]
    facts_html = parts.facts(pair for pair in known if pair not in others)
    if not others:
        return facts_html
    return join([facts_html, parts.fold(f"{len(others)} more facts", parts.facts(others))])


def _find_function(artifact: Kernel) -> list[excerpt.Range]:
    """Return the line range of a Triton kernel's function, if it fits on a page; else []."""
    if artifact.language != "python" or not artifact.kernel_name:
        return []
    offset = artifact.first_line - 1
    ranges = excerpt.find_function(artifact.code, artifact.kernel_name)
    return [
        (first + offset, last + offset)
        for first, last in ranges
        if last - first < parts.MOST_PAPER_LINES
    ]


def text(artifact: Kernel) -> str:
    """Return one line for each fact, then the code."""
    values = {
        "kernel": artifact.kernel_name,
        "category": artifact.category,
        "device": artifact.device,
        "computes": ", ".join(artifact.origins),
        "from": ", ".join(dict.fromkeys(map(str, artifact.source_lines))),
        **facts.fact_texts(artifact.facts),
    }
    rows = [
        columns.paragraph(f"{name}: {value}", "  ", "    ")
        for name, value in values.items()
        if value
    ]
    head = columns.heading(artifact.title, artifact.filename)
    return columns.join(head, *rows, clean(artifact.code).rstrip("\n"))
