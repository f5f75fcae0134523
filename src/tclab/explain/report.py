"""Build the `Report` of one capture."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tclab import advisories, targets
from tclab.compare import take_snapshot
from tclab.explain.costs import call_cost
from tclab.model import (
    UNKNOWN,
    CallCost,
    Candidates,
    Chain,
    Counts,
    Problem,
    Report,
    map_texts,
    rows_of_chains,
    rows_of_kernels,
)
from tclab.system import machine
from tclab.text import redaction
from tclab.text.scrub import scrub

if TYPE_CHECKING:
    from tclab.capturing import Capture
    from tclab.explain.request import ExplainRequest
    from tclab.explain.run import Outcome
    from tclab.explain.subject import Subject
    from tclab.explain.trials.remedy import Tried


#: The most lines to name in the remark on operators that run on the CPU.
_MOST_PLACES = 3


def build(
    subject: Subject, request: ExplainRequest, outcome: Outcome, calls: tuple[str, ...],
    tried: Tried,
) -> Report:  # fmt: skip
    """Build the report of one capture; files below the working folder get relative paths."""
    from tclab.explain import source

    capture, refusal, target = outcome.capture, outcome.refusal, request.target
    here, device = machine.here(), target.device if target else ""
    chains, fault = _chains(capture, machine_code=refusal is None)
    agreement = tried.agreement
    snapshot = replace(
        take_snapshot(capture, here, subject.title, device),
        agreement="" if agreement.verdict == UNKNOWN else agreement.verdict,
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
            *_host_remarks(capture),
        ),
        timed=capture.timed,
        gaps=tuple(map(Problem.from_error, capture.gaps)),
        refusal=Problem.from_error(refusal) if refusal else None,
        left_out=tuple(_left_out(capture)) if refusal is None else (),
        fault=fault,
        counts=_counts(capture, len(calls)),
        kernels=rows_of_chains(chains) or rows_of_kernels(capture.kernels),
        cost=_cost(capture, chains, request, here.gpu),
        candidates=Candidates() if refusal else capture.compile_candidates(),
        sources=source.annotated(capture, chains, subject.callable, tried),
        breaks=tried.breaks,
        recompiles=capture.recompiles,
        symbols=capture.symbols,
        guards=capture.guards,
        chains=chains,
        compile_time=capture.compile_time,
        provenance=here,
        snapshot=snapshot,
        agreement=agreement,
        advisories=advisories.find(snapshot),
        own=tried.own,
        cachings=capture.cachings,
        checkpoints=capture.checkpoints,
    )
    return _shareable(report)


def _cost(
    capture: Capture, chains: tuple[Chain, ...], request: ExplainRequest, gpu: str
) -> CallCost | None:
    """Return what the first call costs at least, on the target or on the GPU that is here."""
    target = request.target or targets.of_device(gpu)
    asked = request.options.get("mode") in ("reduce-overhead", "max-autotune")
    cuda_graphs = asked and not capture.cuda_graph_skips
    return call_cost(chains, rows_of_chains(chains), target, cuda_graphs=cuda_graphs)


def _host_remarks(capture: Capture) -> Iterator[str]:
    """Yield a remark on all operators that run on the CPU beside a target, if there are any."""
    places = list(dict.fromkeys(place for _, place in capture.on_host))
    if not places:
        return
    more = f" and {len(places) - _MOST_PLACES} more lines" if len(places) > _MOST_PLACES else ""
    yield (
        "The GPU leaves to the CPU what is computed from tensors of the CPU: "
        f"{'; '.join(places[:_MOST_PLACES])}{more}. C++ kernels depend on the host's processor, "
        "and are shown for this one. Make the tensors on the GPU if they are not meant to be on "
        "the CPU."
    )


def _counts(capture: Capture, calls: int) -> Counts:
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


def _left_out(capture: Capture) -> Iterator[Problem]:
    """Yield a problem for each kernel without instructions, because it is too long or
    because there are too many.
    """
    step = "add --long-kernels for all instructions: that can take minutes"
    for name, cause in capture.left_out().items():
        yield Problem(f"kernel {name}", cause, step)


def _chains(capture: Capture, *, machine_code: bool) -> tuple[tuple[Chain, ...], str]:
    """Return the chains; if linking fails, none and the reason: a fault there must not cost the
    rest of the report.
    """
    try:
        return capture.chains(machine_code=machine_code), ""
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        return (), f"The stages could not be linked, which is a fault of tclab ({what})."


def _shareable(report: Report) -> Report:
    """Return the report with paths relative to the working folder and without possible tokens: its
    author passes it on.
    """
    folder = scrub(str(Path.cwd() / "x"))[:-1]
    place = re.compile(r"(?<![\w.~/-])" + re.escape(folder) + r"(?=[\w.])")
    anywhere = folder in ("", "/")
    own = "\n".join(
        [report.title, *(text for of in report.sources for text in (of.filename, of.code))]
    )
    tokens = redaction.find_tokens(own=own)

    def change(text: str) -> str:
        near = text if anywhere or folder not in text else place.sub("", text)
        return redaction.redact_tokens(near, tokens, own)

    safe: Report = map_texts(report, change)
    return replace(safe, provenance=report.provenance)  # versions are never redacted
