"""A `Report` of one capture."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tclab import advisories, machine, redaction
from tclab.model import (
    Candidates,
    Chain,
    Counts,
    Gap,
    Report,
    mapped,
    rows_of_chains,
    rows_of_kernels,
)
from tclab.scrub import scrub
from tclab.snapshot import take

if TYPE_CHECKING:
    from tclab.capturing import Capture
    from tclab.errors import TclabError
    from tclab.explain.request import ExplainRequest
    from tclab.explain.run import Outcome
    from tclab.explain.subject import Subject


def build(
    subject: Subject, request: ExplainRequest, outcome: Outcome, calls: tuple[str, ...]
) -> Report:
    """The report of one capture; files below the working folder are named from there."""
    from tclab.explain import source

    capture, refusal, target = outcome.capture, outcome.refusal, request.target
    here, device = machine.here(), target.device if target else ""
    chains, fault = _chains(capture, machine_code=refusal is None)
    snapshot = take(capture, here, subject.title, device)
    report = Report(
        title=subject.title,
        name="report",
        calls=calls,
        target=device,
        backward=request.backward,
        remarks=subject.remarks + ((target.note,) if target and target.note else ()),
        timed=capture.timed,
        gaps=tuple(map(_gap, capture.gaps)),
        refusal=_gap(refusal) if refusal else None,
        left_out=tuple(_left_out(capture)) if refusal is None else (),
        fault=fault,
        counts=_counts(capture, len(calls)),
        kernels=rows_of_chains(chains) or rows_of_kernels(capture.kernels),
        candidates=Candidates() if refusal else capture.compile_candidates(),
        sources=source.annotated(capture, chains, subject.callable),
        breaks=capture.breaks,
        recompiles=capture.recompiles,
        symbols=capture.symbols,
        guards=capture.guards,
        chains=chains,
        compile_time=capture.compile_time,
        provenance=here,
        snapshot=snapshot,
        advisories=advisories.find(snapshot),
    )
    return _near(report)


def _gap(error: TclabError) -> Gap:
    return Gap(error.place, error.cause, error.next_step)


def _counts(capture: Capture, calls: int) -> Counts:
    generated = sum(kernel.category != "extern" for kernel in capture.kernels)
    skipped = sum(item.skipped for item in capture.breaks)
    return Counts(
        calls=calls,
        breaks=len(capture.breaks) - skipped,
        skipped=skipped,
        graphs=capture.breaks.graphs,
        recompiles=len(capture.recompiles),
        all_graphs=len(capture.graphs),
        guards=sum(map(len, capture.guards)),
        kernels=generated,
        library_calls=len(capture.kernels) - generated,
    )


def _left_out(capture: Capture) -> Iterator[Gap]:
    """The kernels, too long or too many, that are not taken down to instructions."""
    step = "add --long-kernels for all instructions: that can take minutes"
    for name, cause in capture.left_out().items():
        yield Gap(f"kernel {name}", cause, step)


def _chains(capture: Capture, *, machine_code: bool) -> tuple[tuple[Chain, ...], str]:
    """The chains, or none and why: a fault there must not cost the rest of the report."""
    try:
        return capture.chains(machine_code=machine_code), ""
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        return (), f"The stages could not be linked, which is a fault of tclab ({what})."


def _near(report: Report) -> Report:
    """The report with the working folder left out of every path, and without what may be a token:
    who made it passes it on.
    """
    folder = scrub(str(Path.cwd() / "x"))[:-1]
    place = re.compile(r"(?<![\w.~/-])" + re.escape(folder) + r"(?=[\w.])")
    anywhere = folder in ("", "/")
    own = "\n".join(
        [report.title, *(text for of in report.sources for text in (of.filename, of.code))]
    )
    tokens = redaction.tokens(own=own)

    def change(text: str) -> str:
        near = text if anywhere or folder not in text else place.sub("", text)
        return redaction.prose(near, tokens)

    safe: Report = mapped(report, change)
    return replace(safe, provenance=report.provenance)  # a version is no token
