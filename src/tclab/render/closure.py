"""What a chain's lines came from and became: lines and keys as numbers, for Python and page.

A line is numbered across all panes, from 0, in order. A join is two lists of lines: those that
stand for something (they are marked with a key) and those made from it (they link to the key).
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
    """`counts` has the number of lines of each pane; `joins` connect lines."""

    counts: tuple[int, ...]
    joins: tuple[Join, ...]

    @classmethod
    def of(cls, chain: Chain) -> Index:
        """The index of a chain. Keys that only mark or only link join nothing."""
        counts = tuple(line_count(clean(pane.code)) for pane in chain.panes)
        starts = [0, *accumulate(counts)]
        marked = _by_key(chain.panes, starts, "marks")
        linked = _by_key(chain.panes, starts, "links")
        both = [key for key in marked if key in linked]
        joins = [(tuple(sorted(marked[key])), tuple(sorted(linked[key]))) for key in both]
        return cls(counts, tuple(sorted(_merged(_merged(joins, 0), 1))))

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """The number of each pane's first line."""
        return (0, *accumulate(self.counts))[: len(self.counts)]

    @cached_property
    def _joins_of(self) -> tuple[Mapping[int, list[int]], Mapping[int, list[int]]]:
        of: tuple[dict[int, list[int]], dict[int, list[int]]] = (
            defaultdict(list),
            defaultdict(list),
        )
        for number, join in enumerate(self.joins):
            for side in (0, 1):
                for line in join[side]:
                    of[side][line].append(number)
        return of

    def step(self, lines: Iterable[int], side: int) -> set[int]:
        """One step from `lines`: side 1 to what they came from, side 0 to what they became."""
        of = self._joins_of[side]
        return {to for line in lines for n in of.get(line, ()) for to in self.joins[n][1 - side]}

    def made_in(self, line: int) -> Sequence[int]:
        """The numbers of the joins that say what `line` was made from."""
        return self._joins_of[1].get(line, ())

    def _walk(self, line: int, side: int) -> set[int]:
        reached: set[int] = set()
        new = {line}
        while new := self.step(new, side) - reached:
            reached |= new
        return reached

    def ancestors(self, line: int) -> set[int]:
        """All that `line` came from."""
        return self._walk(line, 1)

    def descendants(self, line: int) -> set[int]:
        """All that `line` became."""
        return self._walk(line, 0)

    def closure(self, line: int) -> set[int]:
        """What a click on `line` lights: itself, ancestors and descendants, no siblings."""
        return {line} | self.ancestors(line) | self.descendants(line)

    def pane(self, line: int) -> int:
        """The pane that `line` is in."""
        return bisect_right(self.starts, line) - 1

    def owners(self, sources: Iterable[int]) -> dict[int, Lines]:
        """The lines among `sources` that each line is made from, the most telling ones only.

        A source all of whose descendants are another's as well, and fewer, is the more telling:
        a line within a function says more than the line that calls it. Of sources with the very
        same descendants the last stands for all.
        """
        became = {source: frozenset(self.descendants(source)) for source in sorted(sources)}
        from_sources: dict[int, list[int]] = defaultdict(list)
        for source, lines in became.items():
            for line in lines:
                from_sources[line].append(source)
        owner_sets = {line: tuple(several) for line, several in from_sources.items()}
        telling = {several: _telling(several, became) for several in set(owner_sets.values())}
        return {line: telling[several] for line, several in owner_sets.items()}

    def payload(self) -> dict[str, Any]:
        """For the page's script: counts, and joins as flat sorted lists of distances.

        Within a list each number is the distance from the one before, the first from the first
        of the same side's list of the join before.
        """
        before, joins = [0, 0], []
        for join in self.joins:
            joins.append([_distances(lines, start) for lines, start in zip(join, before)])
            before = [lines[0] for lines in join]
        return {"counts": self.counts, "joins": joins}


def _by_key(panes: Sequence[Listing], starts: Sequence[int], field: str) -> dict[str, set[int]]:
    by_key: dict[str, set[int]] = defaultdict(set)
    for pane, start in zip(panes, starts, strict=False):
        count = line_count(clean(pane.code))
        for number, keys in getattr(pane, field).items():
            if 1 <= number <= count:  # a key of a line that is not shown leads nowhere
                for key in keys:
                    by_key[key].add(start + number - 1)
    return by_key


def _merged(joins: Iterable[Join], side: int) -> Iterator[Join]:
    """Joins with the same lines on one side become one."""
    others: dict[Lines, set[int]] = defaultdict(set)
    for join in joins:
        others[join[side]] |= set(join[1 - side])
    for same, other in others.items():
        sides = (same, tuple(sorted(other)))
        yield sides if side == 0 else sides[::-1]


def _distances(lines: Lines, start: int) -> list[int]:
    return [b - a for a, b in zip((start, *lines), lines, strict=False)]


def _telling(sources: Lines, became: Mapping[int, frozenset[int]]) -> Lines:
    """`sources` without those that hold all that another of them became."""

    def outdone(source: int, other: int) -> bool:
        mine, its = became[source], became[other]
        return its < mine or (its == mine and source < other)

    return tuple(s for s in sources if not any(outdone(s, o) for o in sources if o != s))
