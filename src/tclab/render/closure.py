"""Compute the origins and descendants of a chain's lines. Here a line is a number, as in the page's
script.

Lines are numbered across all panes, from 0, in order. A join is two lists of lines: the lines
marked with some key, and the lines that link to this key. The second lines were made from the first
ones.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from tclab.render.escape import clean
from tclab.render.parts import line_count

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tclab.model import Chain, Listing

Lines = tuple[int, ...]
Join = tuple[Lines, Lines]  # (marked, linked), both sorted


@dataclass(frozen=True)
class Index:
    """The joins of a chain. `counts` holds the number of lines of each pane."""

    counts: tuple[int, ...]
    joins: tuple[Join, ...]

    @classmethod
    def from_chain(cls, chain: Chain) -> Index:
        """Build the index of a chain. A key makes a join only if lines are marked with it and other
        lines link to it.
        """
        counts = tuple(line_count(clean(pane.code)) for pane in chain.panes)
        starts = [0, *accumulate(counts)]
        marked = _lines_by_key(chain.panes, starts, "marks")
        linked = _lines_by_key(chain.panes, starts, "links")
        shared_keys = [key for key in marked if key in linked]
        joins = [(tuple(sorted(marked[key])), tuple(sorted(linked[key]))) for key in shared_keys]
        return cls(counts, tuple(sorted(_merge_joins(_merge_joins(joins, 0), 1))))

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """The number of each pane's first line."""
        return (0, *accumulate(self.counts))[: len(self.counts)]

    @cached_property
    def _joins_by_line(self) -> tuple[Mapping[int, list[int]], Mapping[int, list[int]]]:
        joins_by_line: tuple[dict[int, list[int]], dict[int, list[int]]] = (
            defaultdict(list),
            defaultdict(list),
        )
        for number, join in enumerate(self.joins):
            for side in (0, 1):
                for line in join[side]:
                    joins_by_line[side][line].append(number)
        return joins_by_line

    def step(self, lines: Iterable[int], side: int) -> set[int]:
        """Return the lines one step away: with side 1 the origins of `lines`, with side 0 the lines
        that came from them.
        """
        joins_by_line = self._joins_by_line[side]
        return {
            other_line
            for line in lines
            for number in joins_by_line.get(line, ())
            for other_line in self.joins[number][1 - side]
        }

    def origin_joins(self, line: int) -> Sequence[int]:
        """Return the numbers of the joins that lead from `line` to its origins."""
        return self._joins_by_line[1].get(line, ())

    def _walk(self, line: int, side: int) -> set[int]:
        reached: set[int] = set()
        frontier = {line}
        while frontier := self.step(frontier, side) - reached:
            reached |= frontier
        return reached

    def ancestors(self, line: int) -> set[int]:
        """Return all lines that `line` came from, directly or not."""
        return self._walk(line, 1)

    def descendants(self, line: int) -> set[int]:
        """Return all lines that came from `line`, directly or not."""
        return self._walk(line, 0)

    def closure(self, line: int) -> set[int]:
        """Return the lines that a click on `line` lights up: itself, ancestors and descendants."""
        return {line} | self.ancestors(line) | self.descendants(line)

    def pane(self, line: int) -> int:
        """Return the number of the pane that contains `line`."""
        return bisect_right(self.starts, line) - 1

    def nearest_sources(self, sources: Iterable[int]) -> dict[int, Lines]:
        """Map each line to the most specific of `sources` that it came from.

        A source is more specific than another one if its descendants are a proper subset of the
        other's: a line in a function is more specific than the line that calls the function. Of
        sources with equal descendants the last one is kept.
        """
        descendants_of = {source: frozenset(self.descendants(source)) for source in sorted(sources)}
        from_sources: dict[int, list[int]] = defaultdict(list)
        for source, lines in descendants_of.items():
            for line in lines:
                from_sources[line].append(source)
        source_groups = {line: tuple(group) for line, group in from_sources.items()}
        specific = {
            group: _most_specific(group, descendants_of) for group in set(source_groups.values())
        }
        return {line: specific[group] for line, group in source_groups.items()}

    def payload(self) -> dict[str, Any]:
        """Return data for the page's script: counts, and joins as lists of distances.

        Each number in a list is the distance to the number before it. The first number is the
        distance to the first number of the same side in the previous join.
        """
        previous, joins = [0, 0], []
        for join in self.joins:
            joins.append([_encode_distances(lines, start) for lines, start in zip(join, previous)])
            previous = [lines[0] for lines in join]
        return {"counts": self.counts, "joins": joins}


def _lines_by_key(
    panes: Sequence[Listing], starts: Sequence[int], field: str
) -> dict[str, set[int]]:
    by_key: dict[str, set[int]] = defaultdict(set)
    for pane, start in zip(panes, starts, strict=False):
        count = line_count(clean(pane.code))
        for number, keys in getattr(pane, field).items():
            if 1 <= number <= count:  # lines outside of the code have no place
                for key in keys:
                    by_key[key].add(start + number - 1)
    return by_key


def _merge_joins(joins: Iterable[Join], side: int) -> Iterator[Join]:
    """Merge joins that have the same lines on `side`."""
    others: dict[Lines, set[int]] = defaultdict(set)
    for join in joins:
        others[join[side]] |= set(join[1 - side])
    for equal_side, lines_of_other in others.items():
        sides = (equal_side, tuple(sorted(lines_of_other)))
        yield sides if side == 0 else sides[::-1]


def _encode_distances(lines: Lines, start: int) -> list[int]:
    return [current - previous for previous, current in zip((start, *lines), lines, strict=False)]


def _most_specific(sources: Lines, descendants_of: Mapping[int, frozenset[int]]) -> Lines:
    """Return the sources without those whose descendants include all descendants of another source.
    Of sources with equal descendants the last one stays.
    """

    def is_less_specific(source: int, other: int) -> bool:
        own_lines, other_lines = descendants_of[source], descendants_of[other]
        return other_lines < own_lines or (other_lines == own_lines and source < other)

    return tuple(
        source
        for source in sources
        if not any(is_less_specific(source, rival) for rival in sources if rival != source)
    )
