"""Sentences of a report: its title, its stamp, its calls, its missing parts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tclab.render import parts, stamp
from tclab.render.escape import one_line

if TYPE_CHECKING:
    from tclab.model import Agreement, Report

#: So many times eager's bytes are worth a sentence.
_MORE = 1.25
#: The title of an advisory.
KNOWN_FAULT = "known fault of this PyTorch"


def title(report: Report) -> str:
    """Return the report's heading."""
    return f"{one_line(report.title)}: what torch.compile makes of it"


def provenance_texts(report: Report) -> list[str]:
    """Return target, PyTorch, device and day as texts; [] if the report does not know them."""
    if not report.provenance.torch:
        return []
    target = [f"code for {report.target}"] if report.target else []
    return [*target, *stamp.provenance_texts(report.provenance)]


def calls_text(report: Report) -> str:
    """Return the beginning of a sentence on device and calls; the caller appends the calls."""
    device = f"for {report.target}, which need not be here" if report.target else "on this machine"
    backward = " and differentiated" if report.backward else ""
    times = f" {len(report.calls)} times" if len(report.calls) > 1 else ""
    return f"Compiled {device}, called{times}{backward} with"


def remarks(report: Report) -> Iterator[str]:
    """Yield the report's remarks, and one on what the GPU would time."""
    yield from report.remarks
    if report.timed:
        yield _padding_text(report)


def _padding_text(report: Report) -> str:
    """Return in a few sentences how many products could be padded, and which way is shown."""
    answers = [answer for row in report.kernels for answer in row.open]
    products = parts.count(len(report.timed), "matrix product")
    text = f"{products} could be padded, which the GPU would time."
    if not answers:
        return f"{text} No kernel depends on it."
    if not all(answer.is_likely for answer in answers):
        return f"{text} Both ways are shown, marked open; what is not marked is in both."
    return (
        f"{text} Shown is the way without padding, as is likely; what depends on it is marked "
        f"open. --assume {answers[0].question.choice}=both shows the other way, too."
    )


def agreement(found: Agreement) -> str:
    """Return whether the compiled results are eager's, as a sentence."""
    return f"Results: {found}."


def caching(report: Report) -> str:
    """Return what is compiled again at each start of the program; '' if it is not known."""
    passed = [each for each in report.cachings if each.state == "bypass"]
    if not report.cachings:
        return ""
    if not passed:
        return "The caches of AOTAutograd and Inductor keep it for the next start."
    causes = "; ".join(dict.fromkeys(map(str, passed)))
    return f"Compiled again at each start: {causes}."


def checkpointing(report: Report) -> str:
    """Return what a compiled backward recomputes too early; '' where it is as eager's."""
    worst = max(report.checkpoints, key=lambda each: each.bytes, default=None)
    if worst is None or worst.held < 2 or worst.bytes < _MORE * worst.one:
        return ""
    return (
        f"Checkpointing: the compiled backward recomputes regions before it has used the ones "
        f"before up. It holds {worst.held} of {worst.regions} at once, {worst.bytes / 2**20:.1f} "
        f"MiB, and eager one, {worst.one / 2**20:.1f} MiB. Next: compile the blocks one by one, "
        "with block.compile(), in place of the whole (not tried)."
    )


def refusal_text(report: Report) -> str:
    """Return why the target was refused; '' if it was not."""
    if not report.refusal:
        return ""
    rest = "The stages above machine code are there." if report.has_kernels else (
        "Graph breaks, guards and graphs are those of a compile here, up to Dynamo."
    )  # fmt: skip
    return f"{report.refusal.place}: {report.refusal.cause}. {rest}"


def gaps(report: Report) -> Iterator[tuple[str, str]]:
    """Yield (what is missing and why, next step) for each missing part of the report."""
    if report.refusal:
        yield f"refused for {report.target}: {refusal_text(report)}", report.refusal.next_step
    for gap in report.gaps:
        head = f"a part is not known for {report.target}"
        yield f"{head}: {gap.place}: {gap.cause}. The rest is shown.", gap.next_step
    for gap in report.left_out:
        yield f"{gap.place}: {gap.cause}. All other stages are shown.", gap.next_step
    if report.fault:
        yield report.fault, "please report it, with the report"
