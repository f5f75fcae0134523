"""What a report says in words: its title, its stamp, what it lacks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tclab.render import stamp
from tclab.render.escape import one_line

if TYPE_CHECKING:
    from tclab.model import Report

#: Above a fault of this PyTorch that the code has, or may have.
KNOWN = "known fault of this PyTorch"


def title(report: Report) -> str:
    """The report's heading."""
    return f"{one_line(report.title)}: what torch.compile makes of it"


def made_by(report: Report) -> list[str]:
    """Which PyTorch, which device, which day; where it was made is clear: here, just now."""
    if not report.provenance.torch:
        return []
    target = [f"code for {report.target}"] if report.target else []
    return [*target, *stamp.made_by(report.provenance)]


def how(report: Report) -> str:
    """For which device it was compiled, and how it was called; the calls come after it."""
    device = f"for {report.target}, which need not be here" if report.target else "on this machine"
    backward = " and differentiated" if report.backward else ""
    times = f" {len(report.calls)} times" if len(report.calls) > 1 else ""
    return f"Compiled {device}, called{times}{backward} with"


def remarks(report: Report) -> Iterator[str]:
    """What was done to get at the function, what the target is, and what its GPU would time."""
    yield from report.remarks
    if report.timed:
        choice = report.timed[0].choice
        yield (
            "The GPU would time these to choose. Kernels that depend on it are marked open; "
            f"all others are exact either way; --assume {choice}=no or --assume {choice}=yes shows "
            f"one way. {'; '.join(map(str, report.timed))}"
        )


def refusal(report: Report) -> str:
    """What the target refused; '' if nothing."""
    if not report.refusal:
        return ""
    rest = "The stages above machine code are there." if report.has_kernels else (
        "Graph breaks, guards and graphs are those of a compile here, up to Dynamo."
    )  # fmt: skip
    return f"{report.refusal.place}: {report.refusal.cause}. {rest}"


def gaps(report: Report) -> Iterator[tuple[str, str]]:
    """What the report lacks, and what to do, each in a line."""
    if report.refusal:
        yield f"refused for {report.target}: {refusal(report)}", report.refusal.next_step
    for gap in report.gaps:
        head = f"a part is not known for {report.target}"
        yield f"{head}: {gap.place}: {gap.cause}. The rest is shown.", gap.next_step
    for gap in report.left_out:
        yield f"{gap.place}: {gap.cause}. All other stages are shown.", gap.next_step
    if report.fault:
        yield report.fault, "please report it, with the report"
