"""Render the facts of a kernel as texts, and as HTML above its code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tclab.model import NOTHING_SHARED
from tclab.model.kernels import format_answers
from tclab.render import parts
from tclab.render.escape import COMMA, NOTHING, Html, esc, join, tag
from tclab.render.options import place_link

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tclab.model import FusedGroup, Kernel, KernelFacts, NotFused, Resources, TimedAnswer
    from tclab.render.options import Options

#: Names of the facts that state a reason of the scheduler.
_REASONS = ("fused", "not fused")


def fact_texts(facts: KernelFacts) -> dict[str, str]:
    """Map the name of every known fact of a kernel to its text, the most useful facts first."""
    return {name: value for name, value in _all_facts(facts) if value}


def _all_facts(facts: KernelFacts) -> Iterator[tuple[str, str]]:
    instructions = "instructions", _number_text(facts.instructions)
    yield "fused", "; ".join(map(_fused_text, facts.fused))
    yield (
        "not fused",
        "; ".join(f"{_pair_text(refused)}: {refused.reason}" for refused in facts.not_fused),
    )
    yield "bytes moved", _moved_text(facts)
    yield "config", str(facts.configuration or "")
    if facts.resources:
        yield from _resource_facts(facts.resources)
        yield instructions
    yield from facts.written.items()
    yield "original_aten", ", ".join(facts.original_aten)
    yield "calls", str(facts.calls or "")
    yield "call", facts.first_call
    if not facts.resources:  # for example a C++ kernel
        yield instructions
    yield "open", format_answers(facts.open)
    yield "decided by", facts.measured or _timing_text(facts.open)


def _resource_facts(resources: Resources) -> Iterator[tuple[str, str]]:
    yield "registers per thread", str(resources.registers)
    yield "stack bytes", "" if resources.stack is None else str(resources.stack)
    yield "shared memory bytes", "" if resources.shared is None else str(resources.shared)
    yield "spilled bytes", str(resources.spilled)
    yield "occupancy", str(resources.occupancy or "")


def _number_text(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


def _fused_text(group: FusedGroup) -> str:
    """Return the nodes of a group as text: ``op0, op1, which share buf0 (op0, op1)``, or ``op0
    alone``.
    """
    if len(group.ops) == 1:
        return f"{group.ops[0]} alone"
    shared = ", ".join(f"{buffer} ({', '.join(ops)})" for buffer, ops in group.shared.items())
    return ", ".join(group.ops) + (f", which share {shared}" if shared else "")


def _pair_text(pair: NotFused) -> str:
    return f"{'_'.join(pair.first)} with {'_'.join(pair.second)}"


def _moved_text(facts: KernelFacts) -> str:
    return " + ".join(f"{bytes_moved:,}" for bytes_moved in facts.moved)


def _timing_text(answers: Iterable[TimedAnswer]) -> str:
    questions = (answer.question for answer in answers)
    questions_text = "; ".join(dict.fromkeys(f"{q.operator}, {q.place}" for q in questions))
    return f"timing on the GPU: {questions_text}" if questions_text else ""


# --------------------------------------------------------------------------- HTML


def fact_pairs(kernel: Kernel, options: Options) -> Iterator[tuple[str, Html]]:
    """Yield (name, HTML) for every known fact of a kernel."""
    yield "kernel", parts.code(kernel.kernel_name) if kernel.kernel_name else NOTHING
    yield "category", esc(kernel.category.replace("_", " "))
    yield "device", esc(kernel.device)
    yield "computes", join(map(parts.code, kernel.origins), COMMA)
    lines = dict.fromkeys(place_link(line, options) for line in kernel.source_lines)
    yield "from", join(lines, COMMA)
    for name, value in fact_texts(kernel.facts).items():
        yield name, esc(value)


def html(kernel: Kernel, options: Options) -> Html:
    """Return four facts, then a fold with the scheduler's reasons and all other facts."""
    visible = parts.facts((name, esc(value)) for name, value in _visible_facts(kernel.facts))
    other_facts = [
        (name, value) for name, value in fact_pairs(kernel, options) if name not in _REASONS
    ]
    hidden_facts = parts.facts([*_list_reasons(kernel.facts), *other_facts])
    if not hidden_facts:
        return visible
    summary = tag("summary", esc("Why it is one kernel, and all that is known of it"))
    return join([visible, tag("details", summary, hidden_facts, class_="tclab-more")])


def _visible_facts(facts: KernelFacts) -> Iterator[tuple[str, str]]:
    """Yield the facts outside of the fold: bytes moved, registers, spills, configuration."""
    yield "bytes moved", _moved_text(facts)
    if resources := facts.resources:
        occupancy = f" a thread; occupancy {resources.occupancy}" if resources.occupancy else ""
        yield "registers", f"{resources.registers}{occupancy}"
        yield "spills", str(resources.spilled)
    yield "configuration", str(facts.configuration.config) if facts.configuration else ""


def _list_reasons(facts: KernelFacts) -> Iterator[tuple[str, Html]]:
    """Yield the scheduler's reasons for fusing nodes, or for not fusing them. Pairs that share no
    data are only counted.
    """
    yield "fused", esc("; ".join(map(_fused_text, facts.fused)))
    disjoint = [
        _pair_text(refused) for refused in facts.not_fused if refused.reason == NOTHING_SHARED
    ]
    informative = (
        f"{_pair_text(refused)}: {refused.reason}"
        for refused in facts.not_fused
        if refused.reason != NOTHING_SHARED
    )
    yield "not fused", join([esc("; ".join(informative)), _fold_disjoint(disjoint)])


def _fold_disjoint(names: list[str]) -> Html:
    if not names:
        return NOTHING
    summary = f"{parts.count(len(names), 'pair')} with {NOTHING_SHARED}"
    return tag("details", tag("summary", esc(summary)), esc("; ".join(names)))
