"""A `Report` of one capture."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from tclab import machine
from tclab.explain import kernels, summary
from tclab.model import Candidates, Chain, Report, mapped
from tclab.scrub import scrub

if TYPE_CHECKING:
    from tclab.capturing import Capture
    from tclab.explain.run import Outcome, Way
    from tclab.explain.subject import Subject


def build(subject: Subject, outcome: Outcome, way: Way, *, calls: tuple[str, ...]) -> Report:
    """The report of one capture; files below the working folder are named from there."""
    from tclab.explain import source

    capture, refusal, target = outcome.capture, outcome.refusal, way.target
    way.on_step("linking the stages")
    chains, fault = _chains(capture, machine_code=refusal is None)
    note = (target.note,) if target and target.note else ()
    timed = _timed(capture)
    report = Report(
        title=subject.title,
        name="report",
        calls=calls,
        target=target.device if target else "",
        backward=way.backward,
        remarks=(*subject.remarks, *note, *timed),
        gaps=tuple((gap.place, gap.cause, gap.next_step) for gap in getattr(capture, "gaps", ())),
        refusal=(refusal.place, refusal.cause, refusal.next_step) if refusal else (),
        left_out=_left_out(capture) if refusal is None else (),
        fault=fault,
        summary=summary.table(capture, len(calls)),
        kernels=kernels.rows(chains) or kernels.of_kernels(capture.kernels),
        candidates=Candidates() if refusal else capture.compile_candidates(),
        sources=source.annotated(capture, chains, subject.callable),
        breaks=capture.breaks,
        recompiles=capture.recompiles,
        symbols=capture.symbols,
        guards=capture.guards,
        chains=chains,
        times=capture.times,
        provenance=machine.here(),
    )
    return _near(report)


def _timed(capture: Capture) -> tuple[str, ...]:
    """What the GPU would time, so that some kernels are one of two; nothing if nothing."""
    questions = getattr(capture, "timed", ())
    if not questions:
        return ()
    head = "The GPU would time these to choose. Kernels that depend on it are marked one of two; "
    choice = questions[0].partition(":")[0]
    fix = f"--assume {choice}=no or --assume {choice}=yes shows one way. "
    return (head + "all others are exact either way; " + fix + "; ".join(questions),)


def _left_out(capture: Capture) -> tuple[tuple[str, str, str], ...]:
    """What is said of each kernel that is too long to be taken down to instructions."""
    step = "add --long-kernels for its instructions, too: that can take minutes"
    cause = "its instructions are left out, because it has {lines:,} lines, more than {most:,}"
    return tuple(
        (f"kernel {name}", cause.format(lines=lines, most=capture.most_lines), step)
        for name, lines in capture.long_kernels.items()
    )


def _chains(capture: Capture, *, machine_code: bool) -> tuple[tuple[Chain, ...], str]:
    """The chains, or none and why: a fault there must not cost the rest of the report."""
    try:
        return capture.chains(machine_code=machine_code), ""
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        return (), f"The stages could not be linked, which is a fault of tclab ({what})."


def _near(report: Report) -> Report:
    """The report with the working folder left out of every path."""
    folder = scrub(str(Path.cwd() / "x"))[:-1]
    if folder in ("", "/"):
        return report
    place = re.compile(r"(?<![\w.~/-])" + re.escape(folder) + r"(?=[\w.])")
    near: Report = mapped(report, lambda text: place.sub("", text) if folder in text else text)
    return near
