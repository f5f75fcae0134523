"""What a report says in words: its title, its stamp, what it lacks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tclab.render import stamp
from tclab.render.escape import one_line

if TYPE_CHECKING:
    from tclab.model import Report


def title(shown: Report) -> str:
    """The report's heading."""
    return f"{one_line(shown.title)}: what torch.compile makes of it"


def made_by(shown: Report) -> list[str]:
    """Which PyTorch, which device, which day; where it was made is clear: here, just now."""
    if not shown.provenance.torch:
        return []
    target = [f"code for {shown.target}"] if shown.target else []
    return [*target, *stamp.made_by(shown.provenance)]


def how(shown: Report) -> str:
    """For which device it was compiled, and how it was called; the calls come after it."""
    device = f"for {shown.target}, which need not be here" if shown.target else "on this machine"
    backward = " and differentiated" if shown.backward else ""
    times = f" {len(shown.calls)} times" if len(shown.calls) > 1 else ""
    return f"Compiled {device}, called{times}{backward} with"


def refusal(shown: Report) -> str:
    """What the target refused; '' if nothing."""
    if not shown.refusal:
        return ""
    rest = "The stages above machine code are there." if shown.has_kernels else (
        "Graph breaks, guards and graphs are those of a compile here, up to Dynamo."
    )  # fmt: skip
    return f"{shown.refusal.place}: {shown.refusal.cause}. {rest}"


def gaps(shown: Report) -> Iterator[tuple[str, str]]:
    """What the report lacks, and what to do, each in a line."""
    if shown.refusal:
        yield f"refused for {shown.target}: {refusal(shown)}", shown.refusal.next_step
    for gap in shown.gaps:
        head = f"a part is not known for {shown.target}"
        yield f"{head}: {gap.place}: {gap.cause}. The rest is shown.", gap.next_step
    for gap in shown.left_out:
        yield f"{gap.place}: {gap.cause}. All other stages are shown.", gap.next_step
    if shown.fault:
        yield shown.fault, "please report it, with the report"
