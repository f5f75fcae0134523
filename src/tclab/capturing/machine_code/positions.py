"""Read the source positions of TTIR, TTGIR, LLVM IR, PTX and AMDGCN, line by line; find SASS
instructions.

Each stage has its own notation: MLIR ``loc``, LLVM ``!dbg``, PTX ``.loc``. The comment above each
pattern shows a line that it matches; tests/samples has such lines of each version.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache

from tclab.model import source_lines

#: (file name, line, column) of each inlined call, from the innermost function to the kernel.
Position = tuple[tuple[str, int, int], ...]
Positions = dict[int, tuple[Position, ...]]  # line of a listing → positions

# #loc = loc("<inductor-cache>/kernel.py":18:0)
_KERNEL = re.compile(r'^#loc = loc\("([^"]*)"', re.MULTILINE)


def kernel_file(ttir: str) -> str:
    """Return the name of the kernel's file, from the first location; '' without one."""
    match = _KERNEL.search(ttir)
    return file_name(match[1]) if match else ""


def file_name(file: str) -> str:
    """Return the last part of a file's path, which all stages have in common."""
    return file.rpartition("/")[2]


# ------------------------------------------------------------------------------ MLIR

# #loc44 = loc(fused[#loc36, #loc35])
_LOC_DEFINITION = re.compile(r"^(#loc\d*) = loc\((.*)\)$", re.MULTILINE)
#     %xoffset = tt.get_program_id x : i32 loc(#loc25)
_LOC_USE = re.compile(r"loc\((#loc\d*)\)\s*$")
# the text between the brackets of #loc2 = loc("<inductor-cache>/kernel.py":24:28):
# "<inductor-cache>/kernel.py":24:28
_FILE = re.compile(r'^"([^"]*)":(\d+):(\d+)')
# the text between the brackets of #loc25 = loc("xoffset"(#loc2)):
# "xoffset"(#loc2)
_NAMED_LOC = re.compile(r'^"[^"]*"\((#loc\d*)\)$')
# the text between the brackets of #loc46 = loc(callsite(#loc17 at #loc42)):
# callsite(#loc17 at #loc42)
_CALL = re.compile(r"^callsite\((#loc\d*) at (#loc\d*)\)$")
# each location in the brackets of #loc44 = loc(fused[#loc36, #loc35]):
# fused[#loc36, #loc35]
_ANY = re.compile(r"#loc\d*")


def mlir_positions(code: str) -> Positions:
    """Return the positions of the lines of TTIR or TTGIR; a line that opens a region gets the
    positions of its closing line.
    """
    definitions = dict(_LOC_DEFINITION.findall(code))
    positions: Positions = {}
    open_lines: list[int] = []
    for number, line in enumerate(source_lines(code), 1):
        text = line.strip()
        opening_line = open_lines.pop() if text.startswith("}") and open_lines else None
        if not text.startswith("#loc") and (used := _LOC_USE.search(text)):
            resolved = _resolve_location(used[1], definitions)
            for place in (opening_line, number):
                if place is not None and resolved:
                    positions[place] = resolved
        if text.endswith("{"):
            open_lines.append(number)
    return positions


def _resolve_location(name: str, definitions: Mapping[str, str]) -> tuple[Position, ...]:
    text = definitions.get(name, "")
    if match := _FILE.match(text):
        return (((file_name(match[1]), int(match[2]), int(match[3])),),)
    if match := _NAMED_LOC.match(text):
        return _resolve_location(match[1], definitions)
    if match := _CALL.match(text):
        inner = _resolve_location(match[1], definitions) or ((),)
        outer = _resolve_location(match[2], definitions)
        return tuple(i + o for i in inner for o in outer)
    if text.startswith("fused"):
        names = _ANY.findall(text)
        return tuple(dict.fromkeys(p for n in names for p in _resolve_location(n, definitions)))
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
    """Return the positions of the lines of LLVM IR, from its debug metadata."""
    metadata = {m[1]: (m[2], m[3]) for m in _METADATA.finditer(code)}
    positions: Positions = {}
    for number, line in enumerate(source_lines(code), 1):
        used = [] if line.startswith("!") else _DEBUG.findall(line)
        if used and (position := _resolve_debug(used[-1], metadata)):
            positions[number] = (position,)
    return positions


def _resolve_debug(number: str, metadata: Mapping[str, tuple[str, str]]) -> Position:
    position: Position = ()
    while number:
        kind, text = metadata.get(number, ("", ""))
        line, column = _LINE.search(text), _COLUMN.search(text)
        if not kind or line is None:
            break
        file = _file_of_scope(number, metadata)
        position += ((file, int(line[1]), int(column[1]) if column else 0),)
        number = _metadata_field(text, "inlinedAt")
    return position


def _file_of_scope(number: str, metadata: Mapping[str, tuple[str, str]]) -> str:
    """Return the file name of a location, found in its scope or the scopes around it."""
    while number:
        kind, text = metadata.get(number, ("", ""))
        if kind == "DIFile":
            match = _FILENAME.search(text)
            return file_name(match[1]) if match else ""
        number = _metadata_field(text, "file") or _metadata_field(text, "scope")
    return ""


def _metadata_field(text: str, name: str) -> str:
    # scope: !26, inlinedAt: !28
    match = re.search(rf"\b{name}: !(\d+)", text)
    return match[1] if match else ""


# ------------------------------------------------------------------------------ PTX

# The call sites of an inlined line: Triton up to 3.7 names them in a comment, and later versions
# after `inlined_at`. Some spaces are left out of these examples.
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
    """Return the positions of the PTX instructions: the position of an instruction is the last
    ``.loc`` above it, with its call sites.

    Up to Triton 3.7, a comment names the call sites; newer versions have ``inlined_at``, which
    refers to the last ``.loc`` of the line that it names (PTX ISA, Debugging Directives). Newer
    versions number the lines of inline assembly, too; these numbers are ignored.
    """
    files = {number: file_name(name) for number, name in _PTX_FILE.findall(code)}
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
        elif current and is_ptx_instruction(line):
            positions[number] = (current,)
    return positions


def _ptx_position(match: re.Match[str], files: Mapping[str, str],
                  last: Mapping[tuple[str, ...], Position]) -> Position:  # fmt: skip
    location, outer = match.group(1, 2, 3), match.group(4, 5, 6)
    position = ((files.get(location[0], ""), int(location[1]), int(location[2])),)
    if outer[0]:
        outer_position = ((files.get(outer[0], ""), int(outer[1]), int(outer[2])),)
        return position + last.get(outer, outer_position)
    spots = _SPOT.findall(match[7] or "")
    return position + tuple((file_name(file), int(n), int(c)) for file, n, c in spots[1:])


def is_ptx_instruction(line: str) -> bool:
    """Return whether a line of PTX is an instruction."""
    text = line.strip()
    return text.endswith(";") and not text.startswith((".", "//")) and text != ";"


# ------------------------------------------------------------------------------ AMDGCN

# 	.loc	2 293 36                        ; standard.py:293:36 @[ kernel.py:39:24 ]
_AMD_LOC = re.compile(r"^\s*\.loc\s[^;]*;\s*(.*)$")


def amdgcn_positions(code: str) -> Positions:
    """Return the positions of the AMDGCN instructions: the position of an instruction is that of
    the last ``.loc`` above it, whose comment names its call sites. Line 0 is no position.
    """
    positions: Positions = {}
    current: Position = ()
    for number, line in enumerate(source_lines(code), 1):
        if match := _AMD_LOC.match(line):
            spots = _SPOT.findall(match[1])
            current = tuple((file_name(f), int(n), int(c)) for f, n, c in spots if int(n))
        elif current and is_amdgcn_instruction(line):
            positions[number] = (current,)
    return positions


def is_amdgcn_instruction(line: str) -> bool:
    """Return whether a line of AMDGCN is an instruction."""
    text = line.strip()
    return line.startswith("\t") and bool(text) and text[0] not in ".;"


_READERS: dict[str, Callable[[str], Positions]] = {
    "ttir": mlir_positions,
    "ttgir": mlir_positions,
    "llir": llvm_positions,
    "ptx": ptx_positions,
    "amdgcn": amdgcn_positions,
}
#: The readers with a cache, because many graphs can have the same kernels.
READERS = {stage: lru_cache(maxsize=16)(reader) for stage, reader in _READERS.items()}

# ------------------------------------------------------------------------------ SASS

#         /*0100*/              @!P0 LDG.E.EF R4, desc[UR4][R2.64] ;
_INSTRUCTION = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+\S")
# .L_x_0:
_LABEL = re.compile(r"^(\.L_\w+):")
#         /*0380*/                   BRA `(.L_x_0);
_BRANCH = re.compile(r"\bBRA `?\(?(\.L_x?_?\w+)")


def is_instruction(line: str) -> bool:
    """Return whether a line of SASS is an instruction."""
    return bool(_INSTRUCTION.match(line))


def padding_lines(lines: list[str]) -> set[int]:
    """Return the numbers, from 1, of the lines of SASS that the assembler adds after a kernel's
    end: a branch to itself, and NOPs up to the next boundary. These lines come from no line of the
    kernel.
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
