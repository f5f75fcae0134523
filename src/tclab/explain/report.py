"""Build the `Report` of one capture."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tclab import findings
from tclab.compare import take_snapshot
from tclab.compare.identity import identify_findings
from tclab.explain import evidence
from tclab.model import (
    UNKNOWN,
    Agreement,
    Candidates,
    Chain,
    Counts,
    Measurement,
    Problem,
    Report,
    map_texts,
)
from tclab.system import machine
from tclab.text import redaction
from tclab.text.scrub import scrub

if TYPE_CHECKING:
    from tclab.capturing import Capture
    from tclab.explain.request import ExplainRequest
    from tclab.explain.run import Outcome
    from tclab.explain.subject import Subject
    from tclab.explain.trials.remedy import TriedFixes

_NOT_KNOWN_OF_AMD = (
    "Left out, since the rules for AMD's GPUs are not known here: the least cost of a call, and "
    "how many waves of a kernel a compute unit holds (occupancy)."
)


def build(
    subject: Subject, request: ExplainRequest, outcome: Outcome, calls: tuple[str, ...],
    tried_fixes: TriedFixes, measurement: Measurement | None = None,
) -> Report:  # fmt: skip
    """Build the report of one capture; files below the working folder get relative paths."""
    from tclab.explain import source

    capture, refusal, target = outcome.capture, outcome.refusal, request.target
    here, device = machine.here(), target.title if target else ""
    chains, fault = _build_chains(capture, machine_code=refusal is None)
    agreement = tried_fixes.agreement
    if not (capture.breaks.graphs or tried_fixes.own):
        agreement = Agreement(reason="nothing was compiled")
    snapshot = take_snapshot(capture, here, subject.title, device)
    mode = str(request.options.get("mode") or "")
    shown = replace(
        evidence.from_capture(capture, snapshot, chains, target, mode, measurement),
        calls=len(calls),
        breaks=tried_fixes.breaks,
        fixes=tried_fixes.recompiles,
        checkpoint_fix=tried_fixes.checkpoint_fix,
        own=tried_fixes.own,
        agreement=agreement,
    )
    found, marks = findings.find(shown), findings.find_marks(shown)
    snapshot = replace(
        snapshot,
        agreement="" if agreement.verdict == UNKNOWN else agreement.verdict,
        # a snapshot is compared: it must not depend on times
        findings=identify_findings(findings.find(replace(shown, measurement=None))),
    )
    report = Report(
        title=subject.title,
        name="report",
        calls=calls,
        target=device,
        backward=request.backward,
        remarks=(
            *subject.remarks,
            *([target.note] if target and target.note else []),
            *([_NOT_KNOWN_OF_AMD] if target and target.gfx else []),
        ),
        timed=capture.timed,
        gaps=tuple(map(Problem.from_error, capture.gaps)),
        refusal=Problem.from_error(refusal) if refusal else None,
        left_out=tuple(_omitted_kernels(capture)) if refusal is None else (),
        fault=fault,
        counts=_count_parts(capture, len(calls)),
        kernels=shown.kernels,
        candidates=Candidates() if refusal else capture.compile_candidates(),
        breaks=tried_fixes.breaks,
        recompiles=capture.recompiles,
        symbols=capture.symbols,
        guards=capture.guards,
        chains=chains,
        compile_time=capture.compile_time,
        provenance=here,
        snapshot=snapshot,
        agreement=agreement,
        advisories=shown.advisories,
        own=tried_fixes.own,
        cachings=capture.cachings,
        checkpoints=capture.checkpoints,
        cost=shown.cost,
        measurement=measurement,
        findings=found,
    )
    sources = source.annotate_sources(
        capture, chains, subject.callable, tried_fixes.breaks, found, marks
    )
    return _make_shareable(replace(report, sources=sources))


def _count_parts(capture: Capture, calls: int) -> Counts:
    from tclab.capturing.read.frames import failed_compiles

    failed = failed_compiles(capture.trace)
    kernels = capture.likely_kernels
    generated = sum(kernel.category != "extern" for kernel in kernels)
    skipped = sum(item.skipped for item in capture.breaks)
    return Counts(
        calls=calls,
        breaks=len(capture.breaks) - skipped,
        skipped=skipped,
        graphs=capture.breaks.graphs,
        recompiles=sum(item.compile_id not in failed for item in capture.recompiles.recompiles),
        all_graphs=sum(graph.compile_id not in failed for graph in capture.graphs),
        guards=sum(map(len, capture.guards)),
        kernels=generated,
        library_calls=len(kernels) - generated,
    )


def _omitted_kernels(capture: Capture) -> Iterator[Problem]:
    """Yield a problem for each kernel that has no instructions because it is too long or because
    there are too many kernels.
    """
    step = "add --long-kernels for all instructions: that can take minutes"
    for name, cause in capture.omitted_kernels().items():
        yield Problem(f"kernel {name}", cause, step)


def _build_chains(capture: Capture, *, machine_code: bool) -> tuple[tuple[Chain, ...], str]:
    """Return the chains. If linking fails, return none and the reason, because a fault in linking
    must not cost the rest of the report.
    """
    try:
        return capture.chains(machine_code=machine_code), ""
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        return (), f"The stages could not be linked, which is a fault of tclab ({what})."


def _make_shareable(report: Report) -> Report:
    """Return the report with paths relative to the working folder and without possible tokens,
    since its author may share it.
    """
    folder = scrub(str(Path.cwd() / "x"))[:-1]
    place = re.compile(r"(?<![\w.~/-])" + re.escape(folder) + r"(?=[\w.])")
    anywhere = folder in ("", "/")
    own = "\n".join(
        [report.title, *(text for of in report.sources for text in (of.filename, of.code))]
    )
    tokens = redaction.find_tokens(user_text=own)

    def change(text: str) -> str:
        near = text if anywhere or folder not in text else place.sub("", text)
        return redaction.redact_tokens(near, tokens, own)

    safe: Report = map_texts(report, change)
    return replace(safe, provenance=report.provenance)  # redaction must not change versions
