"""Reports of `tclab explain`: everything of one function."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tclab.render import columns
from tclab.render.kinds import (
    annotated,
    breaks,
    candidates,
    chain,
    guards,
    recompiles,
    symbols,
    table,
)
from tclab.render.report import body, counts, kernels, words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tclab.model import Report
    from tclab.render.options import Options


def html(artifact: Report, options: Options) -> str:
    """The report without its title."""
    return body.html(artifact, options)


def text(artifact: Report) -> str:
    """All but the listings of the chains."""
    return "\n\n".join(part for part in _parts(artifact) if part)


def _parts(shown: Report) -> Iterator[str]:
    yield columns.join(*_head(shown))
    yield table.text(counts.table(shown.counts))
    yield table.text(kernels.compact(shown.kernels))
    yield candidates.text(shown.candidates) if shown.candidates else ""
    yield from map(annotated.text, shown.sources)
    yield breaks.text(shown.breaks) if len(shown.breaks) else ""
    yield recompiles.text(shown.recompiles) if len(shown.recompiles) else ""
    yield symbols.text(shown.symbols) if len(shown.symbols) else ""
    yield from map(guards.text, shown.guards)
    yield from map(chain.text, shown.chains)
    yield table.text(counts.times(shown.compile_time))
    if shown.warnings:
        listed = (columns.paragraph(text, "  ", "    ") for text in shown.warnings)
        yield columns.join(columns.heading("Warnings of other packages"), *listed)


def _head(shown: Report) -> Iterator[str]:
    yield columns.heading(words.title(shown))
    yield columns.paragraph(" · ".join(words.made_by(shown)))
    yield columns.paragraph(counts.verdict(shown))
    for number, call in enumerate(shown.calls, 1):
        yield columns.paragraph(f"call {number}: {call or 'no arguments'}")
    yield from map(columns.paragraph, shown.remarks)
    for gap, step in words.gaps(shown):
        yield columns.paragraph(gap)
        yield columns.paragraph(f"next: {step}", "  ", "    ")
