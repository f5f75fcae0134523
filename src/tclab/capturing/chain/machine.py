"""Links from a Triton kernel's lines down to TTIR, TTGIR, LLVM IR, PTX and SASS.

Each stage names source positions its own way: MLIR ``loc``, LLVM ``!dbg``, PTX ``.loc``, and
for SASS the PTX line each instruction was made from (nvdisasm -gp). A line is linked to the
kernel's line at the outer end of its position, and to the lines of the stage before that have
the very same position, inlining included.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from tclab.capturing.read.units import CompiledKernel
from tclab.model import Listing, links

#: (file's last part, line, column) from the innermost function to the kernel.
Position = tuple[tuple[str, int, int], ...]
Positions = dict[int, tuple[Position, ...]]  # line of a listing → positions
LineKeys = dict[int, links.Keys]
ReadPositions = Callable[[str], Positions]


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
    place = Place(unit, index, _kernel_file(stages["ttir"].code), offset)
    panes: list[Listing] = []
    before = ""
    for stage, positions in _POSITIONS.items():
        if listing := stages.get(stage):
            panes.append(_pane(listing, before, positions(listing.code), place))
            before = stage
    if sass := stages.get("sass"):
        panes.append(_sass(sass, compiled.ptx_lines, panes[-1], place))
    return panes


def _pane(listing: Listing, before: str, positions: Positions, place: Place) -> Listing:
    above: LineKeys = {}
    marks: LineKeys = {}
    for number, several in positions.items():
        up = [place.kernel(p) for p in several]
        up += [place.key(before, p) for p in several if before]
        above[number] = tuple(dict.fromkeys(key for key in up if key))
        marks[number] = tuple(dict.fromkeys(place.key(listing.stage, p) for p in several))
    if listing.stage == "ptx":
        code = listing.code.splitlines()
        for number in (n for n, line in enumerate(code, 1) if _is_ptx(line)):
            marks[number] = (*marks.get(number, ()), place.ptx(number))
    return replace(listing, links=above, marks=marks)


def _kernel_file(ttir: str) -> str:
    """The file the kernel is in: that of the first location, its function's."""
    match = re.search(r'^#loc = loc\("([^"]*)"', ttir, re.MULTILINE)
    return _base(match[1]) if match else ""


def _base(file: str) -> str:
    return file.rpartition("/")[2]


# ------------------------------------------------------------------------------ MLIR

_DEFINED = re.compile(r"^(#loc\d*) = loc\((.*)\)$", re.MULTILINE)
_USED = re.compile(r"loc\((#loc\d*)\)\s*$")
_FILE = re.compile(r'^"([^"]*)":(\d+):(\d+)')
_NAMED = re.compile(r'^"[^"]*"\((#loc\d*)\)$')
_CALL = re.compile(r"^callsite\((#loc\d*) at (#loc\d*)\)$")


def mlir_positions(code: str) -> Positions:
    """Positions of TTIR and TTGIR; a line that opens a region has its closing line's."""
    defined = dict(_DEFINED.findall(code))
    of_lines: Positions = {}
    open_lines: list[int] = []
    for number, line in enumerate(code.splitlines(), 1):
        text = line.strip()
        opened = open_lines.pop() if text.startswith("}") and open_lines else None
        if not text.startswith("#loc") and (used := _USED.search(text)):
            positions = _resolve(used[1], defined)
            for place in (opened, number):
                if place is not None and positions:
                    of_lines[place] = positions
        if text.endswith("{") or re.search(r"\{ loc\(#loc\d*\)$|\{$", text):
            open_lines.append(number)
    return of_lines


def _resolve(name: str, defined: Mapping[str, str]) -> tuple[Position, ...]:
    text = defined.get(name, "")
    if match := _FILE.match(text):
        return (((_base(match[1]), int(match[2]), int(match[3])),),)
    if match := _NAMED.match(text):
        return _resolve(match[1], defined)
    if match := _CALL.match(text):
        inner = _resolve(match[1], defined) or ((),)
        outer = _resolve(match[2], defined)
        return tuple(i + o for i in inner for o in outer)
    if text.startswith("fused"):
        names = re.findall(r"#loc\d*", text)
        return tuple(dict.fromkeys(p for n in names for p in _resolve(n, defined)))
    return ()


# ------------------------------------------------------------------------------ LLVM

_DEBUG = re.compile(r"!dbg !(\d+)")
_METADATA = re.compile(r"^!(\d+) = (?:distinct )?!(\w+)\((.*)\)$", re.MULTILINE)


def llvm_positions(code: str) -> Positions:
    """Positions of LLVM IR, by its debug metadata."""
    metadata = {m[1]: (m[2], m[3]) for m in _METADATA.finditer(code)}
    positions: Positions = {}
    for number, line in enumerate(code.splitlines(), 1):
        used = [] if line.startswith("!") else _DEBUG.findall(line)
        if used and (position := _located(used[-1], metadata)):
            positions[number] = (position,)
    return positions


def _located(number: str, metadata: Mapping[str, tuple[str, str]]) -> Position:
    position: Position = ()
    while number:
        kind, text = metadata.get(number, ("", ""))
        file = _file_of(number, metadata)
        line = re.search(r"\bline: (\d+)", text)
        column = re.search(r"\bcolumn: (\d+)", text)
        if not kind or line is None:
            break
        position += ((file, int(line[1]), int(column[1]) if column else 0),)
        number = _field(text, "inlinedAt")
    return position


def _file_of(number: str, metadata: Mapping[str, tuple[str, str]]) -> str:
    """The file of a location: its scope's, or that one's."""
    while number:
        kind, text = metadata.get(number, ("", ""))
        if kind == "DIFile":
            match = re.search(r'filename: "([^"]*)"', text)
            return _base(match[1]) if match else ""
        number = _field(text, "file") or _field(text, "scope")
    return ""


def _field(text: str, name: str) -> str:
    match = re.search(rf"\b{name}: !(\d+)", text)
    return match[1] if match else ""


# ------------------------------------------------------------------------------ PTX, SASS

_LOC = re.compile(
    r"^\s*\.loc\s+(\d+) (\d+) (\d+)(?:,.*?inlined_at (\d+) (\d+) (\d+))?[^/]*(?://\s*(.*))?$"
)
_SPOT = re.compile(r"([^\s@\[\]]+):(\d+):(\d+)")
_PTX_FILE = re.compile(r'^\s*\.file\s+(\d+) "([^"]*)"', re.MULTILINE)


def ptx_positions(code: str) -> Positions:
    """Positions of PTX instructions: the ``.loc`` above, and where it is inlined. Older versions
    say that in its comment, newer ones with ``inlined_at``, which means the last ``.loc`` of
    that place (PTX ISA, Debugging Directives).
    """
    files = {number: _base(name) for number, name in _PTX_FILE.findall(code)}
    last: dict[tuple[str, ...], Position] = {}
    positions: Positions = {}
    current: Position = ()
    for number, line in enumerate(code.splitlines(), 1):
        if match := _LOC.match(line):
            current = _ptx_position(match, files, last)
            last[match.group(1, 2, 3)] = current
        elif current and _is_ptx(line):
            positions[number] = (current,)
    return positions


def _ptx_position(
    match: re.Match[str], files: Mapping[str, str], last: Mapping[tuple[str, ...], Position]
) -> Position:
    here, outer = match.group(1, 2, 3), match.group(4, 5, 6)
    own = ((files.get(here[0], ""), int(here[1]), int(here[2])),)
    if outer[0]:
        known = ((files.get(outer[0], ""), int(outer[1]), int(outer[2])),)
        return own + last.get(outer, known)
    spots = _SPOT.findall(match[7] or "")
    return own + tuple((_base(file), int(n), int(c)) for file, n, c in spots[1:])


def _is_ptx(line: str) -> bool:
    """Whether a line of PTX is an instruction."""
    text = line.strip()
    return text.endswith(";") and not text.startswith((".", "//")) and text != ";"


_INSTRUCTION = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+\S")
_SASS_FILE = re.compile(r'^\s*//## File "([^"]*)", line (\d+)')


def is_instruction(line: str) -> bool:
    """Whether a line of SASS is an instruction."""
    return bool(_INSTRUCTION.match(line))


def _sass(listing: Listing, ptx_lines: Mapping[int, int], ptx: Listing, place: Place) -> Listing:
    """SASS: each instruction's PTX line, the kernel's line of that, or of its own comment."""
    above: LineKeys = {}
    own = ""
    lines = listing.code.splitlines()
    padding = padding_lines(lines)
    for number, line in enumerate(lines, 1):
        if match := _SASS_FILE.match(line):
            own = place.kernel(((_base(match[1]), int(match[2]), 0),))
        elif line.startswith("\t.section"):
            own = ""
        elif is_instruction(line) and number not in padding:
            at = ptx_lines.get(number, 0)
            kernel = [key for key in ptx.links.get(at, ()) if links.is_kernel(key)]
            up = [*(kernel or [own]), place.ptx(at) if at else ""]
            above[number] = tuple(key for key in up if key)
    return replace(listing, links={n: keys for n, keys in above.items() if keys})


_TRAP = re.compile(r"\bBRA `?\(?(\.L_x?_?\w+)")


def padding_lines(lines: list[str]) -> set[int]:
    """Lines (from 1) of what the assembler puts after a kernel's end: a branch to itself, and
    NOPs up to the next boundary. They come from no line of the kernel.
    """
    padding: set[int] = set()
    label = ""
    ended = False
    for number, line in enumerate(lines, 1):
        if match := re.match(r"^(\.L_\w+):", line):
            label, ended = match[1], False
        elif is_instruction(line):
            branch = _TRAP.search(line)
            ended = ended or bool(branch and label and branch[1] == label and "@" not in line)
            if ended:
                padding.add(number)
            label = ""
    return padding


#: Stages above the binary, from the kernel down → what reads their positions.
_POSITIONS: dict[str, ReadPositions] = {
    "ttir": mlir_positions,
    "ttgir": mlir_positions,
    "llir": llvm_positions,
    "ptx": ptx_positions,
}
