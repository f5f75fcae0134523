"""Two listings line by line: which lines are the same, and which words of those that are not.

The comparison is difflib's. What a reader can do without (`noise`) is left out on both sides; of a
kernel nothing is, but it is known which lines only say how it is compiled and launched. The
addresses of instructions and the names of registers are not compared: one instruction more gives
all that follow other ones.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from tclab.render.viewer.lines import shown
from tclab.render.viewer.noise import metadata, noise

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tclab.model import Listing

#: difflib compares every line with every other; beyond this it leaves frequent lines aside.
_THOROUGH = 4_000_000

_WORD = re.compile(r"\w+|\s+|.")

#: Of each stage, what is not compared; a group is what stays of it.
GIVEN_OUT = {
    #   /*0110*/ @!P4 LDG.E.128 R4, desc[UR4][R14.64] ;   IMAD R13, R13.reuse, 0x400, R0 ;
    "sass": re.compile(r"/\*[0-9a-f]{4,}\*/|\.reuse\b|\b(U?[RP])\d+"),
    #   @%p1 ld.global.b32 %r1, [%rd2];   bra $L__BB0_2;
    "ptx": re.compile(r"(%[a-z]+)\d+"),
    #   %7 = shl i32 %6, 10, !dbg !13
    "llir": re.compile(r"(%)\d+\b|, !dbg !\d+"),
    #   b:	push   QWORD PTR [r13-0x8]
    "asm": re.compile(r"^\s*[0-9a-f]+:\s"),
}

#: A piece of a line, and whether it differs from the other side's.
Piece = tuple[str, bool]


@dataclass(frozen=True)
class PaneLine:
    """One line of one side: its number as it is shown, and its pieces."""

    number: int
    pieces: tuple[Piece, ...]

    @property
    def text(self) -> str:
        return "".join(text for text, _ in self.pieces)


@dataclass(frozen=True)
class LinePair:
    """A line of the left beside one of the right; None where a side has none."""

    left: PaneLine | None
    right: PaneLine | None
    same: bool
    metadata: bool = False  # a kernel's, on both sides


@dataclass(frozen=True)
class Side:
    """The lines of one listing that are compared."""

    listing: Listing | None

    @cached_property
    def lines(self) -> tuple[tuple[int, str], ...]:
        """(number as shown, text)."""
        if self.listing is None:
            return ()
        text = shown(self.listing).removesuffix("\n")
        stage, first = self.listing.stage, self.listing.first_line
        quiet = noise(stage, text) if stage != "kernel" else frozenset()
        numbered = enumerate(text.split("\n"))
        return tuple((i + first, line.rstrip()) for i, line in numbered if i not in quiet)

    @cached_property
    def metadata(self) -> frozenset[int]:
        """The lines that only say how a kernel is compiled and launched, by number."""
        if self.listing is None:
            return frozenset()
        first = self.listing.first_line
        return frozenset(i + first for i in metadata(self.listing.stage, shown(self.listing)))

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """What of each line is compared."""
        pattern = GIVEN_OUT.get(self.listing.stage) if self.listing else None
        texts = (text.strip() for _, text in self.lines)
        return tuple(pattern.sub(_kept, text).strip() if pattern else text for text in texts)


def _kept(match: re.Match[str]) -> str:
    return next((group for group in match.groups() if group), "")


def rows(left: Side, right: Side) -> Iterator[LinePair]:
    """Both sides in order; lines that take each other's place stand beside each other."""
    many = len(left.keys) * len(right.keys) > _THOROUGH
    matcher = difflib.SequenceMatcher(None, left.keys, right.keys, autojunk=many)
    for kind, i, i_end, j, j_end in matcher.get_opcodes():
        for pair in _paired(left.lines[i:i_end], right.lines[j:j_end], kind == "equal"):
            is_metadata = _all_in(pair.left, left.metadata) and _all_in(pair.right, right.metadata)
            yield replace(pair, metadata=is_metadata)


def _all_in(line: PaneLine | None, numbers: frozenset[int]) -> bool:
    return line is None or line.number in numbers


def _paired(
    left: Sequence[tuple[int, str]], right: Sequence[tuple[int, str]], same: bool
) -> Iterator[LinePair]:
    for k in range(max(len(left), len(right))):
        one = left[k] if k < len(left) else None
        two = right[k] if k < len(right) else None
        if one and two:
            yield LinePair(*_words(one, two, same), same)
        else:
            yield LinePair(_whole(one), _whole(two), same=False)


def _whole(line: tuple[int, str] | None) -> PaneLine | None:
    return PaneLine(line[0], ((line[1], True),)) if line else None


def _words(left: tuple[int, str], right: tuple[int, str], same: bool) -> tuple[PaneLine, PaneLine]:
    if same:
        return PaneLine(left[0], ((left[1], False),)), PaneLine(right[0], ((right[1], False),))
    words = _WORD.findall(left[1]), _WORD.findall(right[1])
    matcher = difflib.SequenceMatcher(None, *words, autojunk=False)
    codes = [(k != "equal", i, ie, j, je) for k, i, ie, j, je in matcher.get_opcodes()]
    one = tuple(("".join(words[0][i:ie]), changed) for changed, i, ie, _, _ in codes if ie > i)
    two = tuple(("".join(words[1][j:je]), changed) for changed, _, _, j, je in codes if je > j)
    return PaneLine(left[0], one), PaneLine(right[0], two)
