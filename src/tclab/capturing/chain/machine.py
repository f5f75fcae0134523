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

from tclab.capturing.chain.inductor import kernel_key
from tclab.capturing.chain.resolve import Keys
from tclab.model import Listing

#: (file's last part, line, column) from the innermost function to the kernel.
Position = tuple[tuple[str, int, int], ...]
Positions = dict[int, tuple[Position, ...]]  # line of a listing → positions
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
    place = Place(unit, index, _kernel_file(stages["ttir"].code), offset)
    panes: list[Listing] = []
    before = ""
    for stage in STAGES[:-1]:
        if listing := stages.get(stage):
            positions = _READERS[stage](listing.code)
            panes.append(_pane(listing, stage, before, positions, place))
            before = stage
    if sass := stages.get("sass"):
        panes.append(_sass(sass, ptx_lines, panes[-1], place))
    return panes


def _pane(listing: Listing, stage: str, before: str, positions: Positions,
          place: Place) -> Listing:  # fmt: skip
    links: dict[int, Keys] = {}
    marks: dict[int, Keys] = {}
    for number, several in positions.items():
        up = [place.kernel(p) for p in several]
        up += [place.key(before, p) for p in several if before]
        links[number] = tuple(dict.fromkeys(key for key in up if key))
        marks[number] = tuple(dict.fromkeys(place.key(stage, p) for p in several))
    if stage == "ptx":
        code = listing.code.splitlines()
        for number in (n for n, line in enumerate(code, 1) if _is_ptx(line)):
            marks[number] = (*marks.get(number, ()), _ptx_key(place, number))
    return replace(listing, links=links, marks=marks)


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
    found: Positions = {}
    open_lines: list[int] = []
    for number, line in enumerate(code.splitlines(), 1):
        text = line.strip()
        opened = open_lines.pop() if text.startswith("}") and open_lines else None
        if not text.startswith("#loc") and (used := _USED.search(text)):
            positions = _resolve(used[1], defined)
            for place in (opened, number):
                if place is not None and positions:
                    found[place] = positions
        if text.endswith("{") or re.search(r"\{ loc\(#loc\d*\)$|\{$", text):
            open_lines.append(number)
    return found


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
    found: Positions = {}
    for number, line in enumerate(code.splitlines(), 1):
        used = [] if line.startswith("!") else _DEBUG.findall(line)
        if used and (position := _located(used[-1], metadata)):
            found[number] = (position,)
    return found


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
    found: Positions = {}
    current: Position = ()
    for number, line in enumerate(code.splitlines(), 1):
        if match := _LOC.match(line):
            current = _ptx_position(match, files, last)
            last[match.group(1, 2, 3)] = current
        elif current and _is_ptx(line):
            found[number] = (current,)
    return found


def _ptx_position(match: re.Match[str], files: Mapping[str, str],
                  last: Mapping[tuple[str, ...], Position]) -> Position:  # fmt: skip
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
    links: dict[int, Keys] = {}
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
            kernel = [key for key in ptx.links.get(at, ()) if key.startswith("kernel:")]
            up = [*(kernel or [own]), _ptx_key(place, at) if at else ""]
            links[number] = tuple(key for key in up if key)
    return replace(listing, links={n: keys for n, keys in links.items() if keys})


_TRAP = re.compile(r"\bBRA `?\(?(\.L_x?_?\w+)")


def padding_lines(lines: list[str]) -> set[int]:
    """Lines (from 1) of what the assembler puts after a kernel's end: a branch to itself, and
    NOPs up to the next boundary. They come from no line of the kernel.
    """
    found: set[int] = set()
    label = ""
    ended = False
    for number, line in enumerate(lines, 1):
        if match := re.match(r"^(\.L_\w+):", line):
            label, ended = match[1], False
        elif is_instruction(line):
            branch = _TRAP.search(line)
            ended = ended or bool(branch and label and branch[1] == label and "@" not in line)
            if ended:
                found.add(number)
            label = ""
    return found


def _ptx_key(place: Place, line: int) -> str:
    return f"ptx:{place.unit}.{place.index}:line {line}"


_READERS: dict[str, Callable[[str], Positions]] = {
    "ttir": mlir_positions, "ttgir": mlir_positions, "llir": llvm_positions, "ptx": ptx_positions,
}  # fmt: skip
