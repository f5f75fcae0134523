"""Write the sentences of a report: its title, its stamp, its calls, its missing parts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tclab.model import BOUNDS, SAME, SLOWER, UNSTEADY, format_seconds, needs_unlikely
from tclab.render import parts
from tclab.render.escape import one_line
from tclab.render.parts import byte_count
from tclab.render.stamp import provenance_texts as describe_provenance

if TYPE_CHECKING:
    from tclab.model import Agreement, CallCost, Measurement, ModeTimes, Report

#: The most remarks on products whose timings do not decide.
_MOST_DOUBTS = 3
_ALONE = "Try again with nothing beside it."
#: From this share of the rounds on, it is said that other programs had the cores.
_SOME_WAITING = 0.05


def title(report: Report) -> str:
    """Return the report's heading."""
    return f"{one_line(report.title)}: what torch.compile makes of it"


def provenance_texts(report: Report) -> list[str]:
    """Return target, PyTorch, device and day as texts; [] if the report has no provenance."""
    if not report.provenance.torch:
        return []
    target = [f"code for {report.target}"] if report.target else []
    return [*target, *describe_provenance(report.provenance)]


def calls_text(report: Report) -> str:
    """Return the beginning of a sentence on device and calls, to which the caller appends the
    calls.
    """
    device = f"for {report.target}, which need not be here" if report.target else "on this machine"
    backward = " and differentiated" if report.backward else ""
    times = f" {len(report.calls)} times" if len(report.calls) > 1 else ""
    return f"Compiled {device}, called{times}{backward} with"


def remarks(report: Report) -> Iterator[str]:
    """Yield the report's remarks, and a remark on the choices that the GPU would time."""
    yield from report.remarks
    if report.timed:
        yield _padding_text(report)
    for question in [each for each in report.timed if each.doubt][:_MOST_DOUBTS]:
        yield f"{question} stays open: {question.doubt}."


def _padding_text(report: Report) -> str:
    """Return a few sentences on how many products could be padded, and whether the kernels shown
    pad them.
    """
    answers = [answer for row in report.kernels for answer in row.open]
    products = parts.count(len(report.timed), "matrix product")
    text = f"{products} could be padded, which the GPU would time."
    if not answers:
        return f"{text} No kernel depends on it."
    if needs_unlikely(answers):
        return f"{text} Both ways are shown, marked open; what is not marked is in both."
    return (
        f"{text} Shown is the way without padding, as is likely; what depends on it is marked "
        f"open. --assume {answers[0].question.choice}=both shows the other way, too."
    )


def agreement(result: Agreement) -> str:
    """Return a sentence that says whether the compiled results are equal to eager's."""
    return f"Results: {result}."


def bound(cost: CallCost | None) -> str:
    """Return a sentence on the lower bound of a call's time; '' if it is not known."""
    if cost is None:
        return ""
    launches = parts.count(cost.kernels + cost.library_calls, "launch", "launches")
    tf32 = f" ({format_seconds(cost.tf32)} with TF32)" if cost.tf32 is not None else ""
    products = f" and {format_seconds(cost.products)} for its products{tf32}"
    left_out = f" {parts.count(cost.unknown, 'kernel')} of unknown cost left out." * bool(
        cost.unknown
    )
    left_out += " What is not known for this GPU is left out." * bool(cost.refused)
    bounds = " or ".join(BOUNDS[key] for key in (cost.bound, cost.second_bound) if key)
    return (
        f"{bounds.capitalize()}: a call takes at least {format_seconds(cost.launches)} "
        f"for its {launches}, {format_seconds(cost.memory)} for its bytes"
        f"{products * bool(cost.products)}.{left_out}"
    )


def measurement(found: Measurement | None) -> str:
    """Return whether compiling pays, as a sentence for each mode; '' if nothing was measured."""
    if found is None:
        return ""
    if found.eager is None or not found.compiled:
        return f"Not measured: {found.problem}."
    failed = (f"{m.mode}: not measured: {m.problem}." for m in found.modes if m.problem)
    eager = format_seconds(found.eager.median)
    compared = (_compare_mode(found, mode, eager) for mode in found.compiled)
    late = "The time was up before all was measured: --measure-seconds gives more."
    return " ".join([*compared, *failed, *_busy(found), *([late] if found.timed_out else [])])


def memory(found: Measurement | None) -> str:
    """Return what a call holds in memory in each mode, as a sentence; '' if it was not measured."""
    each = [(m.mode, m.memory) for m in found.modes if m.memory] if found else []
    if not each:
        return ""
    peaks = ", ".join(f"{mode} {byte_count(memory.peak)}" for mode, memory in each)
    saved = ", ".join(
        f"{mode} {byte_count(memory.saved)}" for mode, memory in each if memory.saved is not None
    )
    kept = (f"CUDA graphs keep {byte_count(m.kept)} more ({mode})" for mode, m in each if m.kept)
    parts_of = [f"Memory of a call at its most: {peaks}", f"kept for the backward: {saved}"]
    lines = [f"{byte_count(size)} of {line}" for _, m in each for line, size in m.lines]
    most = [f"most of it in eager: {', '.join(lines)}"] if lines else []
    return "; ".join([*parts_of[: 1 + bool(saved)], *kept, *most]) + "."


def _busy(found: Measurement) -> Iterator[str]:
    """Yield a sentence on the share of a call in which the GPU works, if it was measured."""
    if found.busy_share is not None:
        waits = ": it waits for the host" if found.waits_for_host else ""
        share = f"{min(found.busy_share, 1):.0%}"
        yield f"The GPU works in {share} of a call ({found.compiled[0].mode}){waits}."


def _compare_mode(found: Measurement, mode: ModeTimes, eager: str) -> str:
    """Return how the calls in one mode compare with eager's, which take the time `eager`."""
    low, median, high = found.speedups(mode)
    verdict, count = found.verdict(mode), len(mode.rounds)
    times = f"{format_seconds(mode.median)}, eager {eager}"
    spread = f"{low:.2f} to {high:.2f} times as fast in {count - 2} of {count} rounds"
    head = f"Measured, {mode.mode}:"
    if verdict == UNSTEADY:
        share = max(each.waited_share for each in found.modes)
        waited = f"; other programs had the cores in {share:.0%} of it" * (share > _SOME_WAITING)
        return f"{head} unsteady, no verdict ({spread}; {times}{waited}). {_ALONE}"
    if verdict == SAME:
        return f"{head} as fast as eager ({spread}; {times})."
    if verdict == SLOWER:
        return f"{head} slower than eager, {1 / median:.2f} times its time ({spread}; {times})."
    after = found.break_even(mode)
    first = f" The first time took {format_seconds(mode.first)}: it pays after {after:,} more."
    return f"{head} {median:.2f} times as fast as eager ({spread}; {times}).{first}"


def refusal_text(report: Report) -> str:
    """Return the reason why the target was refused; '' if it was not."""
    if not report.refusal:
        return ""
    rest = "The stages above machine code are there." if report.has_kernels else (
        "Graph breaks, guards and graphs are those of a compile here, up to Dynamo."
    )  # fmt: skip
    return f"{report.refusal.place}: {report.refusal.cause}. {rest}"


def gaps(report: Report) -> Iterator[tuple[str, str]]:
    """Yield (the missing part and why, next step) for each missing part of the report."""
    if report.refusal:
        yield f"refused for {report.target}: {refusal_text(report)}", report.refusal.next_step
    for gap in report.gaps:
        head = f"a part is not known for {report.target}"
        yield f"{head}: {gap.place}: {gap.cause}. The rest is shown.", gap.next_step
    if report.left_out:
        first, more = report.left_out[0], len(report.left_out) - 1
        others = f" {parts.count(more, 'more kernel')} too, in the report." * bool(more)
        yield f"{first.place}: {first.cause}.{others}", first.next_step
    if report.fault:
        yield report.fault, "please report it, with the report"
