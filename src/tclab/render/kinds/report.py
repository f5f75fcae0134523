"""Render the reports of `tclab explain`."""

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
from tclab.render.report import body, counts, findings, kernels, words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tclab.model import Report
    from tclab.render.options import Options


def html(artifact: Report, options: Options) -> str:
    """Return the report without its title."""
    return body.html(artifact, options)


def text(artifact: Report) -> str:
    """Return the whole report without the listings of the chains."""
    return "\n\n".join(part for part in _text_parts(artifact) if part)


def _text_parts(report: Report) -> Iterator[str]:
    yield columns.join(*_text_head(report))
    yield table.text(counts.table(report.counts))
    yield table.text(kernels.compact_table(report.kernels))
    yield candidates.text(report.candidates) if report.candidates else ""
    yield from map(annotated.text, report.sources)
    yield breaks.text(report.breaks) if len(report.breaks) else ""
    yield recompiles.text(report.recompiles) if len(report.recompiles) else ""
    yield symbols.text(report.symbols) if len(report.symbols) else ""
    yield from map(guards.text, report.guards)
    yield from map(chain.text, report.chains)
    yield table.text(report.compile_time.table)
    if report.warnings:
        lines = (columns.paragraph(text, "  ", "    ") for text in report.warnings)
        yield columns.join(columns.heading("Warnings of other packages"), *lines)


def _text_head(report: Report) -> Iterator[str]:
    yield columns.heading(words.title(report))
    yield columns.paragraph(" · ".join(words.provenance_texts(report)))
    yield columns.paragraph(counts.summary(report))
    found = report.measurement
    for text in filter(
        None, (words.bound(report.cost), words.measurement(found), words.memory(found))
    ):
        yield columns.paragraph(text)
    yield columns.paragraph(words.agreement(report.agreement))
    for line in findings.lines(report.findings):
        yield columns.paragraph(line, " " * (len(line) - len(line.lstrip())), "    ")
    for number, call in enumerate(report.calls, 1):
        yield columns.paragraph(f"call {number}: {call or 'no arguments'}")
    yield from map(columns.paragraph, words.remarks(report))
    for gap, next_step in words.gaps(report):
        yield columns.paragraph(gap)
        yield columns.paragraph(f"next: {next_step}", "  ", "    ")
