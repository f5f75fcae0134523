"""What is known of a kernel, in words, and what of it stands above the kernel's code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tclab.model import NOTHING_SHARED
from tclab.model.kernels import given
from tclab.render import parts
from tclab.render.escape import COMMA, NOTHING, Html, esc, join, tag
from tclab.render.options import place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tclab.model import FusedGroup, Kernel, KernelFacts, NotFused, Resources, TimedAnswer
    from tclab.render.options import Options

#: The scheduler's reasons for what is one kernel and what is not.
_REASONS = ("fused", "not fused")


def words(facts: KernelFacts) -> dict[str, str]:
    """All that is known beside the code, by name: the telling ones first."""
    return {name: value for name, value in _named(facts) if value}


def _named(facts: KernelFacts) -> Iterator[tuple[str, str]]:
    instructions = "instructions", _number(facts.instructions)
    yield "fused", "; ".join(map(_fused, facts.fused))
    yield "not fused", "; ".join(f"{_pair(each)}: {each.reason}" for each in facts.not_fused)
    yield "bytes moved", _moved(facts)
    yield "config", str(facts.configuration or "")
    if facts.resources:
        yield from _resources(facts.resources)
        yield instructions
    yield from facts.written.items()
    yield "original_aten", ", ".join(facts.original_aten)
    yield "calls", str(facts.calls or "")
    yield "call", facts.first_call
    if not facts.resources:  # of a C++ kernel
        yield instructions
    yield "open", given(facts.open)
    yield "decided by", facts.measured or _decided_by(facts.open)


def _resources(taken: Resources) -> Iterator[tuple[str, str]]:
    yield "registers per thread", str(taken.registers)
    yield "stack bytes", "" if taken.stack is None else str(taken.stack)
    yield "shared memory bytes", "" if taken.shared is None else str(taken.shared)
    yield "spilled bytes", str(taken.spilled)
    yield "occupancy", str(taken.occupancy or "")


def _number(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


def _fused(group: FusedGroup) -> str:
    """``op0, op1, which share buf0 (op0, op1)``, or ``op0 alone``."""
    if len(group.ops) == 1:
        return f"{group.ops[0]} alone"
    shared = ", ".join(f"{buffer} ({', '.join(ops)})" for buffer, ops in group.shared.items())
    return ", ".join(group.ops) + (f", which share {shared}" if shared else "")


def _pair(refused: NotFused) -> str:
    return f"{'_'.join(refused.first)} with {'_'.join(refused.second)}"


def _moved(facts: KernelFacts) -> str:
    return " + ".join(f"{each:,}" for each in facts.moved)


def _decided_by(answers: Iterable[TimedAnswer]) -> str:
    questions = (each.question for each in answers)
    timed = "; ".join(dict.fromkeys(f"{q.operator}, {q.place}" for q in questions))
    return f"timing on the GPU: {timed}" if timed else ""


# --------------------------------------------------------------------------- HTML


def pairs(kernel: Kernel, options: Options) -> Iterator[tuple[str, Html]]:
    """All that is known of a kernel: (name, HTML)."""
    yield "kernel", parts.code(kernel.kernel_name) if kernel.kernel_name else NOTHING
    yield "category", esc(kernel.category.replace("_", " "))
    yield "device", esc(kernel.device)
    yield "computes", join(map(parts.code, kernel.origins), COMMA)
    lines = dict.fromkeys(place(s, options) for s in kernel.source_lines)
    yield "from", join(lines, COMMA)
    for name, value in words(kernel.facts).items():
        yield name, esc(value)


def html(kernel: Kernel, options: Options) -> Html:
    """Four facts, and behind a fold the scheduler's reasons and all other facts."""
    first = parts.facts((name, esc(value)) for name, value in _first(kernel.facts))
    rest = [(n, v) for n, v in pairs(kernel, options) if n not in _REASONS]
    folded = parts.facts([*_reasons(kernel.facts), *rest])
    if not folded:
        return first
    summary = tag("summary", esc("Why it is one kernel, and all that is known of it"))
    return join([first, tag("details", summary, folded, class_="tclab-more")])


def _first(facts: KernelFacts) -> Iterator[tuple[str, str]]:
    """What stands in sight: of the configuration only itself, not how it was chosen."""
    yield "bytes moved", _moved(facts)
    if taken := facts.resources:
        occupancy = f" a thread; occupancy {taken.occupancy}" if taken.occupancy else ""
        yield "registers", f"{taken.registers}{occupancy}"
        yield "spills", str(taken.spilled)
    yield "configuration", str(facts.configuration.config) if facts.configuration else ""


def _reasons(facts: KernelFacts) -> Iterator[tuple[str, Html]]:
    """Why nodes were fused or not; where no data would be shared, only for how many pairs."""
    yield "fused", esc("; ".join(map(_fused, facts.fused)))
    apart = [_pair(each) for each in facts.not_fused if each.reason == NOTHING_SHARED]
    telling = (
        f"{_pair(each)}: {each.reason}" for each in facts.not_fused if each.reason != NOTHING_SHARED
    )
    yield "not fused", join([esc("; ".join(telling)), _apart(apart)])


def _apart(names: list[str]) -> Html:
    if not names:
        return NOTHING
    summary = f"{parts.count(len(names), 'pair')} with {NOTHING_SHARED}"
    return tag("details", tag("summary", esc(summary)), esc("; ".join(names)))
