"""What a search finds of code that its index leaves out: opcodes and kernel names, with a line.

Machine code, IR and bytecode fill a search index without helping anybody. The name of an
instruction does help, if the result shows a line with it and leads there.
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

#: A line is shown up to this many characters.
LONGEST = 72

#: The operation of a line of each stage: the first group that matched.
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
    #  `265:	vmaxss xmm0,xmm2,xmm0`
    "asm": re.compile(r"^\s*[0-9a-f]+:\s+(?:[0-9a-f]{2} )*\s*([a-z]\w+)"),
    #  `tmp1 = ops.constant(1.0, torch.float32)`   `get_index = ...; load = ops.load('arg0_1', ...)`
    "ir": re.compile(r"\b(ops\.\w+)\("),
}
_OPCODES["ttgir"] = _OPCODES["ttir"]
_OPCODES["ir_pre_fusion"] = _OPCODES["ir"]


@dataclass(frozen=True)
class Keyword:
    """`word` stands in `line`, whose id on the page is `anchor`, of the listing `stage`."""

    anchor: str
    word: str
    stage: str
    line: str


def opcode(line: str, stage: str) -> str:
    """The operation that a line of a stage names; '' where there is none."""
    pattern = _OPCODES.get(stage)
    match = pattern.search(line) if pattern else None
    return next((group for group in match.groups() if group), "") if match else ""


def of(artifact: Artifact, options: Options) -> list[Keyword]:
    """Each operation and each kernel of an artifact once, where it first stands."""
    first: dict[tuple[str, str], Keyword] = {}
    for keyword in _all(artifact, options):
        first.setdefault((keyword.stage, keyword.word), keyword)
    return list(first.values())


def _all(artifact: Artifact, options: Options) -> Iterator[Keyword]:
    if isinstance(artifact, Chain):
        panes = Panes(artifact, options)
        for number, listing in enumerate(artifact.panes):
            yield from _name(listing, panes.id(number))
            for line, keyword in _lines(listing):
                yield Keyword(panes.id(number, line + listing.first_line), *keyword)
    elif isinstance(artifact, Listing):
        yield from _name(artifact, options.prefix)
        for line, keyword in _lines(artifact):
            yield Keyword(options.id(f"L{line + artifact.first_line}"), *keyword)


def _name(listing: Listing, anchor: str) -> Iterator[Keyword]:
    """The name of a kernel, and what it computes."""
    if isinstance(listing, Kernel) and listing.kernel_name:
        computes = f"computes {', '.join(listing.origins)}" if listing.origins else ""
        yield Keyword(anchor, listing.kernel_name, _stage(listing), computes)


def _lines(listing: Listing) -> Iterator[tuple[int, tuple[str, str, str]]]:
    """(number from 0, (operation, stage, line)) of the lines that name an operation."""
    for number, line in enumerate(clean(listing.code).split("\n")):
        if word := opcode(line, listing.stage):
            text = one_line(line)
            cut = text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
            yield number, (word, _stage(listing), cut)


def _stage(listing: Listing) -> str:
    return LABELS.get(listing.stage, listing.title)
