"""Collect the facts about a kernel: its fused groups, refused fusions, resources, instructions."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

from tclab.capturing.machine_code.positions import is_instruction, padding_lines
from tclab.capturing.read.units import CompiledKernel, Unit
from tclab.model import FusedGroup, FusionPairs, Kernel, KernelFacts, NotFused, source_lines


def collect_facts(kernel: Kernel, unit: Unit) -> KernelFacts:
    """Collect the facts about a unit's kernel: its groups of scheduler nodes, the fusions that
    Inductor refused, and, if the kernel was compiled, its resources and number of instructions.
    """
    groups = _fused_groups(kernel, unit)
    facts = replace(
        kernel.facts,
        fused=tuple(groups),
        not_fused=_refused_pairs({op for group in groups for op in group.ops}, unit.pairs),
    )
    compiled = unit.compiled.get(kernel.kernel_name)
    return _add_machine_code(facts, compiled) if compiled else facts


def _fused_groups(kernel: Kernel, unit: Unit) -> list[FusedGroup]:
    """Return the groups of scheduler nodes that the kernel computes."""
    lines = [line for note in unit.notes_on(kernel) for line in note.lines]
    ops = {line.body[0] for line in lines if line.body}
    return (
        [group for group in unit.loop_bodies.groups if ops & set(group.ops)]
        if unit.loop_bodies
        else []
    )


def _refused_pairs(ops: Set[str], pairs: FusionPairs | None) -> tuple[NotFused, ...]:
    """Return the refused pairs of one of these nodes with another node, with reasons."""
    return tuple(
        NotFused(pair.first, pair.second, pair.reason)
        for pair in (pairs.pairs if pairs else ())
        if pair.verdict == "refused" and pair.reason and len(pair.ops & ops) == 1
    )


def _add_machine_code(facts: KernelFacts, compiled: CompiledKernel) -> KernelFacts:
    facts = replace(facts, configuration=compiled.configuration, resources=compiled.resources)
    sass = compiled.stages.get("sass")
    return replace(facts, instructions=_count_instructions(sass.code)) if sass else facts


def _count_instructions(sass: str) -> int:
    lines = source_lines(sass)
    padding = padding_lines(lines)
    return sum(is_instruction(line) for n, line in enumerate(lines, 1) if n not in padding)
