"""A chain with what its panes need of each other: names, ids, where lines came from."""

from __future__ import annotations

import heapq
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from tclab.render import stages
from tclab.render.closure import Index

if TYPE_CHECKING:
    from tclab.model import Chain
    from tclab.render.escape import Html
    from tclab.render.options import Options

#: Stages whose text is long: bare, made into lines and coloured by the page's script.
BARE = stages.MACHINE | {"ir_pre_fusion", "ir"}

#: Stages in code that people write or read, not a compiler's own.
READABLE = frozenset({"python", "kernel", "cpp"})


Place = tuple[int, int]  # pane, line as shown


@dataclass(frozen=True)
class Panes:
    """A chain and how it is to be shown."""

    chain: Chain
    options: Options

    @cached_property
    def _firsts(self) -> dict[tuple[int, int, int], tuple[Place, ...]]:
        """The first origins of a join, for lines of a pane: (join, pane, how many) → places."""
        return {}

    @cached_property
    def index(self) -> Index:
        return Index.of(self.chain)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """`kernel`, `kernel 2`, …: the stage, and which of its panes."""
        seen: Counter[str] = Counter()
        names = []
        for pane in self.chain.panes:
            seen[pane.stage] += 1
            many = seen[pane.stage] > 1
            names.append(f"{pane.stage} {seen[pane.stage]}" if many else pane.stage)
        return tuple(names)

    def place(self, line: int) -> Place:
        """Pane, and the line's number as it is shown."""
        pane = self.index.pane(line)
        return pane, line - self.index.starts[pane] + self.chain.panes[pane].first_line

    def id(self, pane: int, line: int | None = None) -> Html:
        """The anchor of a pane or of a line in it: ``{prefix}-{stage}-L12``."""
        end = () if line is None else (f"L{line}",)
        return self.options.id(self.names[pane], *end)

    def origins(self, line: int, most: int) -> list[Place]:
        """Where `line` came from, in other panes: at most so many places, readable code first.

        In a kernel of thousands of lines, thousands of instructions have hundreds of origins each,
        which most of them share: the first of each join are looked for once.
        """
        own = self.index.pane(line)
        above = {p for join in self.index.made_in(line) for p in self._first(join, own, most)}
        return sorted(above, key=self._rank)[:most]

    def _first(self, join: int, own: int, most: int) -> tuple[Place, ...]:
        key = (join, own, most)
        if key not in self._firsts:
            places = map(self.place, self.index.joins[join][0])
            others = (place for place in places if place[0] != own)
            self._firsts[key] = tuple(heapq.nsmallest(most, others, key=self._rank))
        return self._firsts[key]

    def _rank(self, place: Place) -> tuple[bool, Place]:
        return not self.readable(place[0]), place

    def readable(self, pane: int) -> bool:
        """Whether a pane holds code that people write or read."""
        return self.chain.panes[pane].stage in READABLE

    @cached_property
    def led_to(self) -> frozenset[int]:
        """The lines that links of origin lead to: they need an anchor of their own."""
        return frozenset(line for marked, _ in self.index.joins for line in marked)
