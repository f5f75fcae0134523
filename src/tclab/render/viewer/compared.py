"""Compare two listings line by line, and changed lines word by word.

The comparison is difflib's. Noise lines are left out on both sides, except in kernels, where lines
about compiling and launching are marked as metadata. Addresses of instructions and names of
registers are not compared, because one additional instruction changes those of all later
instructions.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from tclab.render.viewer.lines import visible_code
from tclab.render.viewer.noise import find_metadata, find_noise

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tclab.model import Listing

#: difflib compares all pairs of lines. With more pairs than this it ignores frequent lines.
_THOROUGH = 4_000_000

_WORD = re.compile(r"\w+|\s+|.")

#: Stage → the pattern of text that is not compared; a group in it is kept.
NOT_COMPARED = {
    #   /*0110*/ @!P4 LDG.E.128 R4, desc[UR4][R14.64] ;   IMAD R13, R13.reuse, 0x400, R0 ;
    "sass": re.compile(r"/\*[0-9a-f]{4,}\*/|\.reuse\b|\b(U?[RP])\d+"),
    #   @%p1 ld.global.b32 %r1, [%rd2];   bra $L__BB0_2;
    "ptx": re.compile(r"(%[a-z]+)\d+"),
    #   %7 = shl i32 %6, 10, !dbg !13
    "llir": re.compile(r"(%)\d+\b|, !dbg !\d+"),
    #   b:	push   QWORD PTR [r13-0x8]
    "asm": re.compile(r"^\s*[0-9a-f]+:\s"),
}

#: A piece of a line: (text, whether it differs from the other side).
Piece = tuple[str, bool]


@dataclass(frozen=True)
class PaneLine:
    """One line of one side: its shown line number, and its pieces."""

    number: int
    pieces: tuple[Piece, ...]

    @property
    def text(self) -> str:
        return "".join(text for text, _ in self.pieces)


@dataclass(frozen=True)
class LinePair:
    """A left line and the right line beside it; None if a side has no line there."""

    left: PaneLine | None
    right: PaneLine | None
    same: bool
    metadata: bool = False  # both lines are a kernel's metadata


@dataclass(frozen=True)
class Side:
    """The lines of one listing that are compared."""

    listing: Listing | None

    @cached_property
    def lines(self) -> tuple[tuple[int, str], ...]:
        """(shown line number, text) of each line that is compared."""
        if self.listing is None:
            return ()
        text = visible_code(self.listing).removesuffix("\n")
        stage, first_line = self.listing.stage, self.listing.first_line
        noise_lines = find_noise(stage, text) if stage != "kernel" else frozenset()
        numbered = enumerate(text.split("\n"))
        return tuple(
            (index + first_line, line.rstrip())
            for index, line in numbered
            if index not in noise_lines
        )

    @cached_property
    def metadata(self) -> frozenset[int]:
        """The numbers of lines that only say how a kernel is compiled and launched."""
        if self.listing is None:
            return frozenset()
        first_line = self.listing.first_line
        return frozenset(
            index + first_line
            for index in find_metadata(self.listing.stage, visible_code(self.listing))
        )

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The text of each line that is compared."""
        pattern = NOT_COMPARED.get(self.listing.stage) if self.listing else None
        texts = (text.strip() for _, text in self.lines)
        return tuple(pattern.sub(_join_kept, text).strip() if pattern else text for text in texts)


def _join_kept(match: re.Match[str]) -> str:
    return next((group for group in match.groups() if group), "")


def pair_lines(left: Side, right: Side) -> Iterator[LinePair]:
    """Yield the lines of both sides in order; a changed line is paired with its replacement."""
    is_large = len(left.keys) * len(right.keys) > _THOROUGH
    matcher = difflib.SequenceMatcher(None, left.keys, right.keys, autojunk=is_large)
    for kind, i, i_end, j, j_end in matcher.get_opcodes():
        for pair in _pair_block(left.lines[i:i_end], right.lines[j:j_end], kind == "equal"):
            is_metadata = _contains_all(pair.left, left.metadata) and _contains_all(
                pair.right, right.metadata
            )
            yield replace(pair, metadata=is_metadata)


def _contains_all(line: PaneLine | None, numbers: frozenset[int]) -> bool:
    return line is None or line.number in numbers


def _pair_block(
    left: Sequence[tuple[int, str]], right: Sequence[tuple[int, str]], is_equal: bool
) -> Iterator[LinePair]:
    for index in range(max(len(left), len(right))):
        left_line = left[index] if index < len(left) else None
        right_line = right[index] if index < len(right) else None
        if left_line and right_line:
            yield LinePair(*_mark_words(left_line, right_line, is_equal), is_equal)
        else:
            yield LinePair(_mark_whole(left_line), _mark_whole(right_line), same=False)


def _mark_whole(line: tuple[int, str] | None) -> PaneLine | None:
    return PaneLine(line[0], ((line[1], True),)) if line else None


def _mark_words(
    left: tuple[int, str], right: tuple[int, str], is_equal: bool
) -> tuple[PaneLine, PaneLine]:
    if is_equal:
        return PaneLine(left[0], ((left[1], False),)), PaneLine(right[0], ((right[1], False),))
    words = _WORD.findall(left[1]), _WORD.findall(right[1])
    matcher = difflib.SequenceMatcher(None, *words, autojunk=False)
    codes = [(k != "equal", i, ie, j, je) for k, i, ie, j, je in matcher.get_opcodes()]
    left_pieces = tuple(
        ("".join(words[0][i:ie]), changed) for changed, i, ie, _, _ in codes if ie > i
    )
    right_pieces = tuple(
        ("".join(words[1][j:je]), changed) for changed, _, _, j, je in codes if je > j
    )
    return PaneLine(left[0], left_pieces), PaneLine(right[0], right_pieces)
