"""What stands beside a kernel: why it is one, what it moves, what the assembler made of it."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tclab.capturing.chain.resolve import Notes
from tclab.capturing.machine_code.positions import is_instruction, padding_lines
from tclab.capturing.machine_code.triton import CompiledKernel
from tclab.capturing.trace.notes import GroupNote
from tclab.model import Kernel

# cannot fuse op0 with op1: no shared data
_REFUSED = re.compile(r"^cannot fuse (\w+) with (\w+): (.*)$", re.MULTILINE)


def facts(
    kernel: Kernel, unit: int, fusion: Iterable[str], below: CompiledKernel | None, notes: Notes
) -> dict[str, str]:
    """The facts of a kernel, the telling ones first.

    `fused` are its scheduler nodes and the buffers they share; `not fused` what the scheduler
    said of them and others; `bytes moved` what they read and write in memory, each buffer once,
    by Inductor's own count; the rest is the assembler's, where machine code is there.
    """
    groups = _groups(kernel, unit, notes)
    found = {
        "fused": "; ".join(map(_fused, groups)),
        "not fused": "; ".join(_refused({op for g in groups for op in g.ops}, fusion)),
        "bytes moved": " + ".join(f"{g.bytes:,}" for g in groups if g.bytes is not None),
    }
    return {k: v for k, v in found.items() if v} | _machine(below) | dict(kernel.facts)


def _groups(kernel: Kernel, unit: int, notes: Notes) -> list[GroupNote]:
    """The groups of scheduler nodes that the kernel's lines were written for."""
    written = notes.kernels.get(unit, {}).get(kernel.kernel_name, [])
    ops = {line.body[0] for note in written for line in note.lines if line.body}
    bodies = notes.bodies.get(unit)
    return [g for g in bodies.groups if ops & set(g.ops)] if bodies else []


def _fused(group: GroupNote) -> str:
    if len(group.ops) == 1:
        return f"{group.ops[0]} alone"
    shared = f", which share {', '.join(group.shared)}" if group.shared else ""
    return f"{', '.join(group.ops)}{shared}"


def _refused(ops: set[str], fusion: Iterable[str]) -> dict[str, None]:
    """Each refusal once: a pair of groups is tried in every round."""
    said = _REFUSED.findall("\n".join(fusion))
    apart = ((a, b, why) for a, b, why in said if len({*a.split("_"), *b.split("_")} & ops) == 1)
    return dict.fromkeys(f"{a} with {b}: {why}" for a, b, why in apart)


def _machine(below: CompiledKernel | None) -> dict[str, str]:
    if below is None:
        return {}
    found = {k: v for k, v in below.facts.items() if k != "candidates"}
    if sass := below.stages.get("sass"):
        lines = sass.code.splitlines()
        padding = padding_lines(lines)
        count = sum(is_instruction(x) for n, x in enumerate(lines, 1) if n not in padding)
        found["instructions"] = f"{count:,}"
    return found
