"""What stands beside a kernel: why it is one, what it moves, what the assembler made of it."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

from tclab.capturing.machine_code.positions import is_instruction, padding_lines
from tclab.capturing.read.units import CompiledKernel, Unit
from tclab.model import FusedGroup, FusionPairs, Kernel, KernelFacts, NotFused, source_lines


def facts(kernel: Kernel, unit: Unit) -> KernelFacts:
    """All that is known of a unit's kernel: its groups of scheduler nodes, what the scheduler
    refused to fuse with them, and what machine code says, where it is there.
    """
    groups = _groups(kernel, unit)
    known = replace(
        kernel.facts,
        fused=tuple(groups),
        not_fused=_refused({op for group in groups for op in group.ops}, unit.pairs),
    )
    compiled = unit.compiled.get(kernel.kernel_name)
    return _with_machine_code(known, compiled) if compiled else known


def _groups(kernel: Kernel, unit: Unit) -> list[FusedGroup]:
    """The groups of scheduler nodes that the kernel's lines were written for."""
    lines = [line for note in unit.written_for(kernel) for line in note.lines]
    ops = {line.body[0] for line in lines if line.body}
    return [group for group in unit.body.groups if ops & set(group.ops)] if unit.body else []


def _refused(ops: Set[str], pairs: FusionPairs | None) -> tuple[NotFused, ...]:
    """The pairs with one of these nodes that were refused with a reason."""
    return tuple(
        NotFused(pair.first, pair.second, pair.reason)
        for pair in (pairs.pairs if pairs else ())
        if pair.verdict == "refused" and pair.reason and len(pair.ops & ops) == 1
    )


def _with_machine_code(known: KernelFacts, compiled: CompiledKernel) -> KernelFacts:
    known = replace(known, configuration=compiled.configuration, resources=compiled.resources)
    sass = compiled.stages.get("sass")
    return replace(known, instructions=_instructions(sass.code)) if sass else known


def _instructions(sass: str) -> int:
    lines = source_lines(sass)
    padding = padding_lines(lines)
    return sum(is_instruction(x) for n, x in enumerate(lines, 1) if n not in padding)
