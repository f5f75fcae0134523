"""Link a Triton kernel's lines down to TTIR, TTGIR, LLVM IR, PTX and SASS.

A line is linked to the kernel's line at the outermost place of its position, and to the lines of
the previous stage with the same position (including all inlined calls). An instruction of SASS is
linked to the line of PTX from which it was made (nvdisasm -gp).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from tclab.capturing.machine_code import positions
from tclab.capturing.machine_code.positions import Position, Positions
from tclab.capturing.read.units import CompiledKernel
from tclab.model import Listing, links, source_lines

LineKeys = dict[int, links.Keys]


@dataclass(frozen=True)
class KernelKeys:
    """Makes the keys of the lines of one kernel, number `index` of a unit, and of its stages.

    `file` is the kernel's file as the stages name it. Line numbers in the file are larger by
    `offset` than in the kernel's pane.
    """

    unit: int
    index: int
    file: str
    offset: int

    def kernel_key(self, position: Position) -> str:
        """Return the key of the kernel's line at a position; '' if the position is not in the
        kernel's file.
        """
        for file, line, _ in reversed(position):
            if file == self.file and line > self.offset:
                return links.kernel_key(self.unit, self.index, line - self.offset)
        return ""

    def stage_key(self, stage: str, position: Position) -> str:
        """Return the key of a stage's lines that have this position."""
        names = (f"{'' if f == self.file else f + ':'}{n}:{c}" for f, n, c in position)
        return links.triton_key(stage, self.unit, self.index, "@".join(names))

    def ptx_key(self, line: int) -> str:
        """Return the key of a line of the PTX."""
        return links.triton_key("ptx", self.unit, self.index, f"line {line}")


def machine_panes(compiled: CompiledKernel, unit: int, index: int) -> list[Listing]:
    """Make the linked panes of all stages of the kernel number `index` of a unit."""
    stages, source = compiled.stages, compiled.source
    if "ttir" not in stages:
        return list(stages.values())
    offset = len(source) - len(source.lstrip("\n"))
    keys = KernelKeys(unit, index, positions.kernel_file(stages["ttir"].code), offset)
    panes: list[Listing] = []
    for stage, line_positions in positions.READERS.items():
        if listing := stages.get(stage):
            previous = panes[-1] if panes else None
            panes.append(_stage_pane(listing, line_positions(listing.code), keys, previous))
    if sass := stages.get("sass"):
        panes.append(_sass_pane(sass, compiled.ptx_lines, panes[-1], keys))
    return panes


def _stage_pane(
    listing: Listing, line_positions: Positions, keys: KernelKeys, previous: Listing | None
) -> Listing:
    line_links: LineKeys = {}
    marks: LineKeys = {}
    for number, resolved in line_positions.items():
        linked = [keys.kernel_key(p) for p in resolved]
        linked += [_key_in_previous(p, keys, previous) for p in resolved if previous]
        line_links[number] = tuple(dict.fromkeys(key for key in linked if key))
        marks[number] = tuple(dict.fromkeys(keys.stage_key(listing.stage, p) for p in resolved))
    if listing.stage == "ptx":
        code = source_lines(listing.code)
        for number in (n for n, line in enumerate(code, 1) if positions.is_ptx_instruction(line)):
            marks[number] = (*marks.get(number, ()), keys.ptx_key(number))
    return replace(listing, links=line_links, marks=marks)


def _key_in_previous(position: Position, keys: KernelKeys, previous: Listing) -> str:
    """Return the key of the previous stage's lines with this position. If the position has column 0
    and no such line exists, return the key with column 1: the position of a function has no column
    in LLVM, and in MLIR it has column 0 up to Triton 3.7 and column 1 from 3.8 on.
    """
    key = keys.stage_key(previous.stage, position)
    if position[-1][2] or any(key in marks for marks in previous.marks.values()):
        return key
    return keys.stage_key(previous.stage, (*position[:-1], (*position[-1][:2], 1)))


# 	//## File "<inductor-cache>/kernel.py", line 34
_SASS_FILE = re.compile(r'^\s*//## File "([^"]*)", line (\d+)')


def _sass_pane(
    listing: Listing, ptx_lines: Mapping[int, int], ptx: Listing, keys: KernelKeys
) -> Listing:
    """Make the pane of SASS. Each instruction is linked to its PTX line and to a line of the
    kernel. That line comes from the PTX line, or else from the comment above the instruction.
    """
    line_links: LineKeys = {}
    comment_key = ""
    lines = source_lines(listing.code)
    padding = positions.padding_lines(lines)
    for number, line in enumerate(lines, 1):
        if match := _SASS_FILE.match(line):
            comment_key = keys.kernel_key(((positions.file_name(match[1]), int(match[2]), 0),))
        elif line.startswith("\t.section"):
            comment_key = ""
        elif positions.is_instruction(line) and number not in padding:
            ptx_line = ptx_lines.get(number, 0)
            kernel = [key for key in ptx.links.get(ptx_line, ()) if links.is_kernel_key(key)]
            linked = [*(kernel or [comment_key]), keys.ptx_key(ptx_line) if ptx_line else ""]
            line_links[number] = tuple(key for key in linked if key)
    return replace(listing, links={n: keys for n, keys in line_links.items() if keys})
