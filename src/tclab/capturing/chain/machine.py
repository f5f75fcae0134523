"""Links from a Triton kernel's lines down to TTIR, TTGIR, LLVM IR, PTX and SASS.

A line is linked to the kernel's line at the outer end of its position, and to the lines of the
stage before that have the very same position, inlining included; an instruction of SASS, to the
line of PTX it was made from (nvdisasm -gp).
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
class Place:
    """The kernel some stages are of: `file` as the stages name it; its lines are `offset`
    later there than in the pane.
    """

    unit: int
    index: int
    file: str
    offset: int

    def kernel(self, position: Position) -> str:
        """The key of the kernel's line a position is in, or ''."""
        for file, line, _ in reversed(position):
            if file == self.file and line > self.offset:
                return links.kernel(self.unit, self.index, line - self.offset)
        return ""

    def key(self, stage: str, position: Position) -> str:
        """The key of a stage's lines that have this position."""
        names = (f"{'' if f == self.file else f + ':'}{n}:{c}" for f, n, c in position)
        return links.below(stage, self.unit, self.index, "@".join(names))

    def ptx(self, line: int) -> str:
        """The key of a line of the PTX."""
        return links.below("ptx", self.unit, self.index, f"line {line}")


def machine_panes(compiled: CompiledKernel, unit: int, index: int) -> list[Listing]:
    """What Triton made of the kernel number `index` of a unit, stage by stage, linked."""
    stages, source = compiled.stages, compiled.source
    if "ttir" not in stages:
        return list(stages.values())
    offset = len(source) - len(source.lstrip("\n"))
    place = Place(unit, index, positions.kernel_file(stages["ttir"].code), offset)
    panes: list[Listing] = []
    for stage, placed in positions.READERS.items():
        if listing := stages.get(stage):
            before = panes[-1] if panes else None
            panes.append(_pane(listing, placed(listing.code), place, before))
    if sass := stages.get("sass"):
        panes.append(_sass(sass, compiled.ptx_lines, panes[-1], place))
    return panes


def _pane(listing: Listing, placed: Positions, place: Place, before: Listing | None) -> Listing:
    above: LineKeys = {}
    marks: LineKeys = {}
    for number, several in placed.items():
        up = [place.kernel(p) for p in several]
        up += [_above(p, place, before) for p in several if before]
        above[number] = tuple(dict.fromkeys(key for key in up if key))
        marks[number] = tuple(dict.fromkeys(place.key(listing.stage, p) for p in several))
    if listing.stage == "ptx":
        code = source_lines(listing.code)
        for number in (n for n, line in enumerate(code, 1) if positions.is_ptx(line)):
            marks[number] = (*marks.get(number, ()), place.ptx(number))
    return replace(listing, links=above, marks=marks)


def _above(position: Position, place: Place, before: Listing) -> str:
    """The key of the lines of the stage before that have this position. LLVM gives a function
    no column; in MLIR it is 0 up to Triton 3.7, and from 3.8 on, 1.
    """
    key = place.key(before.stage, position)
    if position[-1][2] or any(key in marks for marks in before.marks.values()):
        return key
    return place.key(before.stage, (*position[:-1], (*position[-1][:2], 1)))


# 	//## File "<inductor-cache>/kernel.py", line 34
_SASS_FILE = re.compile(r'^\s*//## File "([^"]*)", line (\d+)')


def _sass(listing: Listing, ptx_lines: Mapping[int, int], ptx: Listing, place: Place) -> Listing:
    """SASS: each instruction's PTX line, the kernel's line of that, or of its own comment."""
    above: LineKeys = {}
    own = ""
    lines = source_lines(listing.code)
    padding = positions.padding_lines(lines)
    for number, line in enumerate(lines, 1):
        if match := _SASS_FILE.match(line):
            own = place.kernel(((positions.base(match[1]), int(match[2]), 0),))
        elif line.startswith("\t.section"):
            own = ""
        elif positions.is_instruction(line) and number not in padding:
            at = ptx_lines.get(number, 0)
            kernel = [key for key in ptx.links.get(at, ()) if links.is_kernel(key)]
            up = [*(kernel or [own]), place.ptx(at) if at else ""]
            above[number] = tuple(key for key in up if key)
    return replace(listing, links={n: keys for n, keys in above.items() if keys})
