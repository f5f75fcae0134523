"""Links from a Triton kernel's lines down to TTIR, TTGIR, LLVM IR, PTX and SASS.

A line is linked to the kernel's line at the outer end of its position, and to the lines of the
stage before that have the very same position, inlining included; an instruction of SASS, to the
line of PTX it was made from (nvdisasm -gp).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from tclab.capturing.chain.inductor import kernel_key
from tclab.capturing.chain.resolve import Keys
from tclab.capturing.machine_code import positions
from tclab.capturing.machine_code.positions import Position, Positions
from tclab.model import Listing

STAGES = ("ttir", "ttgir", "llir", "ptx", "sass")


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
                return kernel_key(self.unit, self.index, line - self.offset)
        return ""

    def key(self, stage: str, position: Position) -> str:
        """The key of a stage's lines that have this position."""
        names = (f"{'' if f == self.file else f + ':'}{n}:{c}" for f, n, c in position)
        return f"{stage}:{self.unit}.{self.index}:{'@'.join(names)}"


def machine_panes(unit: int, index: int, source: str, stages: Mapping[str, Listing],
                  ptx_lines: Mapping[int, int]) -> list[Listing]:  # fmt: skip
    """The stages of one kernel, linked. `ptx_lines`: line of the SASS → line of the PTX."""
    if "ttir" not in stages:
        return list(stages.values())
    offset = len(source) - len(source.lstrip("\n"))
    place = Place(unit, index, positions.kernel_file(stages["ttir"].code), offset)
    panes: list[Listing] = []
    for stage in STAGES[:-1]:
        if listing := stages.get(stage):
            placed = positions.READERS[stage](listing.code)
            panes.append(_pane(listing, stage, placed, place, panes[-1] if panes else None))
    if sass := stages.get("sass"):
        panes.append(_sass(sass, ptx_lines, panes[-1], place))
    return panes


def _pane(listing: Listing, stage: str, placed: Positions, place: Place,
          before: Listing | None) -> Listing:  # fmt: skip
    links: dict[int, Keys] = {}
    marks: dict[int, Keys] = {}
    for number, several in placed.items():
        up = [place.kernel(p) for p in several]
        up += [_above(p, place, before) for p in several if before]
        links[number] = tuple(dict.fromkeys(key for key in up if key))
        marks[number] = tuple(dict.fromkeys(place.key(stage, p) for p in several))
    if stage == "ptx":
        code = listing.code.splitlines()
        for number in (n for n, line in enumerate(code, 1) if positions.is_ptx(line)):
            marks[number] = (*marks.get(number, ()), _ptx_key(place, number))
    return replace(listing, links=links, marks=marks)


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
    links: dict[int, Keys] = {}
    own = ""
    lines = listing.code.splitlines()
    padding = positions.padding_lines(lines)
    for number, line in enumerate(lines, 1):
        if match := _SASS_FILE.match(line):
            own = place.kernel(((positions.base(match[1]), int(match[2]), 0),))
        elif line.startswith("\t.section"):
            own = ""
        elif positions.is_instruction(line) and number not in padding:
            at = ptx_lines.get(number, 0)
            kernel = [key for key in ptx.links.get(at, ()) if key.startswith("kernel:")]
            up = [*(kernel or [own]), _ptx_key(place, at) if at else ""]
            links[number] = tuple(key for key in up if key)
    return replace(listing, links={n: keys for n, keys in links.items() if keys})


def _ptx_key(place: Place, line: int) -> str:
    return f"ptx:{place.unit}.{place.index}:line {line}"
