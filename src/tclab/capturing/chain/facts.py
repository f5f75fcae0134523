"""What stands beside a kernel: why it is one, what it moves, what the assembler made of it."""

from __future__ import annotations

from collections.abc import Iterable

from tclab.capturing.machine_code.positions import is_instruction, padding_lines
from tclab.capturing.read.fusion import REFUSED
from tclab.capturing.read.units import CompiledKernel, Unit
from tclab.capturing.trace.notes import GroupNote
from tclab.model import Kernel


def facts(kernel: Kernel, unit: Unit) -> dict[str, str]:
    """The facts of a unit's kernel, the telling ones first.

    `fused` are its scheduler nodes and the buffers they share; `not fused` what the scheduler
    said of them and others; `bytes moved` what they read and write in memory, each buffer once,
    by Inductor's own count; the rest is the assembler's, where machine code is there.
    """
    groups = _groups(kernel, unit)
    of_groups = {
        "fused": "; ".join(map(_fused, groups)),
        "not fused": "; ".join(_refused({op for g in groups for op in g.ops}, unit.fusion)),
        "bytes moved": " + ".join(f"{g.bytes:,}" for g in groups if g.bytes is not None),
    }
    below = _machine(unit.compiled.get(kernel.kernel_name))
    return {k: v for k, v in of_groups.items() if v} | below | dict(kernel.facts)


def _groups(kernel: Kernel, unit: Unit) -> list[GroupNote]:
    """The groups of scheduler nodes that the kernel's lines were written for."""
    lines = [line for note in unit.written_for(kernel) for line in note.lines]
    ops = {line.body[0] for line in lines if line.body}
    return [g for g in unit.body.groups if ops & set(g.ops)] if unit.body else []


def _fused(group: GroupNote) -> str:
    if len(group.ops) == 1:
        return f"{group.ops[0]} alone"
    shared = f", which share {', '.join(group.shared)}" if group.shared else ""
    return f"{', '.join(group.ops)}{shared}"


def _refused(ops: set[str], fusion: Iterable[str]) -> dict[str, None]:
    """Each refusal once: a pair of groups is tried in every round."""
    refusals = REFUSED.findall("\n".join(fusion))
    apart = (
        (a, b, why) for a, b, why in refusals if len({*a.split("_"), *b.split("_")} & ops) == 1
    )
    return dict.fromkeys(f"{a} with {b}: {why}" for a, b, why in apart)


def _machine(compiled: CompiledKernel | None) -> dict[str, str]:
    if compiled is None:
        return {}
    facts = {k: v for k, v in compiled.facts.items() if k != "candidates"}
    if sass := compiled.stages.get("sass"):
        lines = sass.code.splitlines()
        padding = padding_lines(lines)
        count = sum(is_instruction(x) for n, x in enumerate(lines, 1) if n not in padding)
        facts["instructions"] = f"{count:,}"
    return facts
