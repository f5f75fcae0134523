"""Find keywords (opcodes, kernel names) for the site's search in code that the search index leaves
out.

The full text of machine code, IR and bytecode would bloat the index. A search for an instruction's
name finds a keyword instead, which shows a line with the instruction and links to it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tclab.model import Chain, Kernel, Listing
from tclab.render.escape import clean, one_line
from tclab.render.options import Options
from tclab.render.stages import LABELS
from tclab.render.viewer.panes import Panes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tclab.model import Artifact

#: Longer lines are cut to this many characters.
MOST_CHARACTERS = 72

#: Stage → the pattern of an operation in a line; the first group that matched is its name.
_OPCODES: dict[str, re.Pattern[str]] = {
    #  `14 LOAD_ATTR                1 (cross_entropy)`
    "bytecode": re.compile(r"^(?:[\s\d>-]|\w+:)*([A-Z][A-Z_]{2,})\b"),
    #  `%tmp7 = arith.subf %a, %b : f32`   `%tmp12 = "tt.reduce"(%tmp11) <{axis = 1`
    "ttir": re.compile(r"^\s*(?:%[\w:, %]+ = )?\"?([a-z]\w*(?:\.\w+)+)\"?[ (]"),
    #  `%151 = fadd float %150, 0xC1`   `%153 = tail call float @llvm.nvvm.fma.rn.f(`   `ret void`
    "llir": re.compile(r"^\s*(?:%[\w.]+ = )?.*?(@llvm(?:\.\w+)+)|^\s+(?:%[\w.]+ = )?([a-z]\w+)\b"),
    #  `@%p1 ld.global.v4.b32 { %r1, %r2 }, [ %rd1 ];`
    "ptx": re.compile(r"^\s*(?:@!?%p\d+\s+)?([a-z]\w*(?:\.[\w:]+)*)[\s;]"),
    #  `/*0360*/   @!P1 FSEL R11, R11, R8, P3 ;`
    "sass": re.compile(r"^\s*/\*[0-9a-f]+\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_]*(?:\.\w+)*)"),
    #  `	v_mul_f32_e32 v7, 0x3f3504f3, v2`
    "amdgcn": re.compile(r"^\t([a-z]\w+)"),
    #  `265:	vmaxss xmm0,xmm2,xmm0`
    "asm": re.compile(r"^\s*[0-9a-f]+:\s+(?:[0-9a-f]{2} )*\s*([a-z]\w+)"),
    #  `tmp1 = ops.constant(1.0, torch.float32)`   `get_index = ...; load = ops.load('arg0_1', ...)`
    "ir": re.compile(r"\b(ops\.\w+)\("),
}
_OPCODES["ttgir"] = _OPCODES["ttir"]
_OPCODES["ir_pre_fusion"] = _OPCODES["ir"]


@dataclass(frozen=True)
class Keyword:
    """A keyword and its place: `word` occurs in `line` of the listing with the title `stage`;
    `anchor` is the line's id on the page.
    """

    anchor: str
    word: str
    stage: str
    line: str


def find_opcode(line: str, stage: str) -> str:
    """Return the operation in a line of a stage's code; '' if there is none."""
    pattern = _OPCODES.get(stage)
    match = pattern.search(line) if pattern else None
    return next((group for group in match.groups() if group), "") if match else ""


def keywords(artifact: Artifact, options: Options) -> list[Keyword]:
    """Return a keyword for each operation and each kernel of an artifact, for the first line with
    it.
    """
    first_by_word: dict[tuple[str, str], Keyword] = {}
    for keyword in _all_keywords(artifact, options):
        first_by_word.setdefault((keyword.stage, keyword.word), keyword)
    return list(first_by_word.values())


def _all_keywords(artifact: Artifact, options: Options) -> Iterator[Keyword]:
    if isinstance(artifact, Chain):
        panes = Panes(artifact, options)
        for number, listing in enumerate(artifact.panes):
            yield from _kernel_keyword(listing, panes.id(number))
            for line, keyword in _opcode_lines(listing):
                yield Keyword(panes.id(number, line + listing.first_line), *keyword)
    elif isinstance(artifact, Listing):
        yield from _kernel_keyword(artifact, options.prefix)
        for line, keyword in _opcode_lines(artifact):
            yield Keyword(options.id(f"L{line + artifact.first_line}"), *keyword)


def _kernel_keyword(listing: Listing, anchor: str) -> Iterator[Keyword]:
    """Yield the name of a kernel, with the operations that it computes."""
    if isinstance(listing, Kernel) and listing.kernel_name:
        computes = f"computes {', '.join(listing.origins)}" if listing.origins else ""
        yield Keyword(anchor, listing.kernel_name, _stage_title(listing), computes)


def _opcode_lines(listing: Listing) -> Iterator[tuple[int, tuple[str, str, str]]]:
    """Yield (line number from 0, (operation, stage title, line)) for lines with an operation."""
    for number, line in enumerate(clean(listing.code).split("\n")):
        if word := find_opcode(line, listing.stage):
            text = one_line(line)
            shortened = text if len(text) <= MOST_CHARACTERS else text[: MOST_CHARACTERS - 1] + "…"
            yield number, (word, _stage_title(listing), shortened)


def _stage_title(listing: Listing) -> str:
    return LABELS.get(listing.stage, listing.title)
