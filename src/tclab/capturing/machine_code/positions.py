"""Source positions of TTIR, TTGIR, LLVM IR and PTX, line by line; what of SASS is instructions.

Each stage names positions its own way: MLIR ``loc``, LLVM ``!dbg``, PTX ``.loc``. Above each
pattern stands a line that it reads; tests/samples has them all, of every version.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache

from tclab.model import source_lines

#: (file's last part, line, column) from the innermost function to the kernel.
Position = tuple[tuple[str, int, int], ...]
Positions = dict[int, tuple[Position, ...]]  # line of a listing → positions

# #loc = loc("<inductor-cache>/kernel.py":18:0)
_KERNEL = re.compile(r'^#loc = loc\("([^"]*)"', re.MULTILINE)


def kernel_file(ttir: str) -> str:
    """The file the kernel is in: that of the first location, its function's."""
    match = _KERNEL.search(ttir)
    return base(match[1]) if match else ""


def base(file: str) -> str:
    """The last part of a file's path, by which all stages call it."""
    return file.rpartition("/")[2]


# ------------------------------------------------------------------------------ MLIR

# #loc44 = loc(fused[#loc36, #loc35])
_DEFINED = re.compile(r"^(#loc\d*) = loc\((.*)\)$", re.MULTILINE)
#     %xoffset = tt.get_program_id x : i32 loc(#loc25)
_USED = re.compile(r"loc\((#loc\d*)\)\s*$")
# of #loc2 = loc("<inductor-cache>/kernel.py":24:28), what is in the brackets:
# "<inductor-cache>/kernel.py":24:28
_FILE = re.compile(r'^"([^"]*)":(\d+):(\d+)')
# of #loc25 = loc("xoffset"(#loc2)):
# "xoffset"(#loc2)
_NAMED = re.compile(r'^"[^"]*"\((#loc\d*)\)$')
# of #loc46 = loc(callsite(#loc17 at #loc42)):
# callsite(#loc17 at #loc42)
_CALL = re.compile(r"^callsite\((#loc\d*) at (#loc\d*)\)$")
# of #loc44 = loc(fused[#loc36, #loc35]):
# fused[#loc36, #loc35]
_ANY = re.compile(r"#loc\d*")


def mlir_positions(code: str) -> Positions:
    """Positions of TTIR and TTGIR; a line that opens a region has its closing line's."""
    defined = dict(_DEFINED.findall(code))
    positions: Positions = {}
    open_lines: list[int] = []
    for number, line in enumerate(source_lines(code), 1):
        text = line.strip()
        opened = open_lines.pop() if text.startswith("}") and open_lines else None
        if not text.startswith("#loc") and (used := _USED.search(text)):
            several = _resolve(used[1], defined)
            for place in (opened, number):
                if place is not None and several:
                    positions[place] = several
        if text.endswith("{"):
            open_lines.append(number)
    return positions


def _resolve(name: str, defined: Mapping[str, str]) -> tuple[Position, ...]:
    text = defined.get(name, "")
    if match := _FILE.match(text):
        return (((base(match[1]), int(match[2]), int(match[3])),),)
    if match := _NAMED.match(text):
        return _resolve(match[1], defined)
    if match := _CALL.match(text):
        inner = _resolve(match[1], defined) or ((),)
        outer = _resolve(match[2], defined)
        return tuple(i + o for i in inner for o in outer)
    if text.startswith("fused"):
        names = _ANY.findall(text)
        return tuple(dict.fromkeys(p for n in names for p in _resolve(n, defined)))
    return ()


# ------------------------------------------------------------------------------ LLVM

#   %8 = icmp samesign ult i32 %7, 64, !dbg !13
_DEBUG = re.compile(r"!dbg !(\d+)")
# !25 = !DILocation(line: 293, column: 36, scope: !26, inlinedAt: !28)
_METADATA = re.compile(r"^!(\d+) = (?:distinct )?!(\w+)\((.*)\)$", re.MULTILINE)
# line: 293, column: 36
_LINE = re.compile(r"\bline: (\d+)")
# line: 293, column: 36
_COLUMN = re.compile(r"\bcolumn: (\d+)")
# !27 = !DIFile(filename: "standard.py", directory: "triton/language")
_FILENAME = re.compile(r'filename: "([^"]*)"')


def llvm_positions(code: str) -> Positions:
    """Positions of LLVM IR, by its debug metadata."""
    metadata = {m[1]: (m[2], m[3]) for m in _METADATA.finditer(code)}
    positions: Positions = {}
    for number, line in enumerate(source_lines(code), 1):
        used = [] if line.startswith("!") else _DEBUG.findall(line)
        if used and (position := _located(used[-1], metadata)):
            positions[number] = (position,)
    return positions


def _located(number: str, metadata: Mapping[str, tuple[str, str]]) -> Position:
    position: Position = ()
    while number:
        kind, text = metadata.get(number, ("", ""))
        line, column = _LINE.search(text), _COLUMN.search(text)
        if not kind or line is None:
            break
        file = _file_of(number, metadata)
        position += ((file, int(line[1]), int(column[1]) if column else 0),)
        number = _field(text, "inlinedAt")
    return position


def _file_of(number: str, metadata: Mapping[str, tuple[str, str]]) -> str:
    """The file of a location: its scope's, or that one's."""
    while number:
        kind, text = metadata.get(number, ("", ""))
        if kind == "DIFile":
            match = _FILENAME.search(text)
            return base(match[1]) if match else ""
        number = _field(text, "file") or _field(text, "scope")
    return ""


def _field(text: str, name: str) -> str:
    # scope: !26, inlinedAt: !28
    match = re.search(rf"\b{name}: !(\d+)", text)
    return match[1] if match else ""


# ------------------------------------------------------------------------------ PTX

# up to Triton 3.7 the comment says where it is inlined (spaces left out here), then the directive
#   .loc 3 263 15 // standard.py:263:15 @[ standard.py:293:36 @[ kernel.py:39:24 ] ]
#   .loc 2 293 12, function_name $L__info_string0, inlined_at 1 39 12 // standard.py:293:12
_LOC = re.compile(
    r"^\s*\.loc\s+(\d+) (\d+) (\d+)(?:,.*?inlined_at (\d+) (\d+) (\d+))?[^/]*(?://\s*(.*))?$"
)
# in the comment above:
# standard.py:263:15 @[ standard.py:293:36 @[ kernel.py:39:24 ] ]
_SPOT = re.compile(r"([^\s@\[\]]+):(\d+):(\d+)")
# 	.file	3 "triton/language/standard.py"
_PTX_FILE = re.compile(r'^\s*\.file\s+(\d+) "([^"]*)"', re.MULTILINE)
_BEGIN, _END = "// begin inline asm", "// end inline asm"


def ptx_positions(code: str) -> Positions:
    """Positions of PTX instructions: the ``.loc`` above, and where it is inlined. Older versions
    say that in its comment, newer ones with ``inlined_at``, which means the last ``.loc`` of
    that place (PTX ISA, Debugging Directives). Inside of inline assembly, newer ones count its
    own lines on from the line that it is for: those are not looked at.
    """
    files = {number: base(name) for number, name in _PTX_FILE.findall(code)}
    last: dict[tuple[str, ...], Position] = {}
    positions: Positions = {}
    current: Position = ()
    inline = False
    for number, line in enumerate(source_lines(code), 1):
        if line.endswith((_BEGIN, _END)):
            inline = line.endswith(_BEGIN)
        elif match := _LOC.match(line):
            if not inline:
                current = last[match.group(1, 2, 3)] = _ptx_position(match, files, last)
        elif current and is_ptx(line):
            positions[number] = (current,)
    return positions


def _ptx_position(match: re.Match[str], files: Mapping[str, str],
                  last: Mapping[tuple[str, ...], Position]) -> Position:  # fmt: skip
    here, outer = match.group(1, 2, 3), match.group(4, 5, 6)
    own = ((files.get(here[0], ""), int(here[1]), int(here[2])),)
    if outer[0]:
        known = ((files.get(outer[0], ""), int(outer[1]), int(outer[2])),)
        return own + last.get(outer, known)
    spots = _SPOT.findall(match[7] or "")
    return own + tuple((base(file), int(n), int(c)) for file, n, c in spots[1:])


def is_ptx(line: str) -> bool:
    """Whether a line of PTX is an instruction."""
    text = line.strip()
    return text.endswith(";") and not text.startswith((".", "//")) and text != ";"


_READERS: dict[str, Callable[[str], Positions]] = {
    "ttir": mlir_positions,
    "ttgir": mlir_positions,
    "llir": llvm_positions,
    "ptx": ptx_positions,
}
#: Graph after graph may have the same kernels.
READERS = {stage: lru_cache(maxsize=16)(reader) for stage, reader in _READERS.items()}

# ------------------------------------------------------------------------------ SASS

#         /*0100*/              @!P0 LDG.E.EF R4, desc[UR4][R2.64] ;
_INSTRUCTION = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+\S")
# .L_x_0:
_LABEL = re.compile(r"^(\.L_\w+):")
#         /*0380*/                   BRA `(.L_x_0);
_BRANCH = re.compile(r"\bBRA `?\(?(\.L_x?_?\w+)")


def is_instruction(line: str) -> bool:
    """Whether a line of SASS is an instruction."""
    return bool(_INSTRUCTION.match(line))


def padding_lines(lines: list[str]) -> set[int]:
    """Lines (from 1) of what the assembler puts after a kernel's end: a branch to itself, and
    NOPs up to the next boundary. They come from no line of the kernel.
    """
    padding: set[int] = set()
    label = ""
    ended = False
    for number, line in enumerate(lines, 1):
        if match := _LABEL.match(line):
            label, ended = match[1], False
        elif is_instruction(line):
            branch = _BRANCH.search(line)
            ended = ended or bool(branch and label and branch[1] == label and "@" not in line)
            if ended:
                padding.add(number)
            label = ""
    return padding
