"""Name the panes of a chain, and find the ids and the origins of their lines."""

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

#: Stages with long text. The page has it as bare text, from which the script makes coloured lines.
BARE = stages.MACHINE | {"ir_pre_fusion", "ir"}

#: Stages in languages that people write.
READABLE = frozenset({"python", "kernel", "cpp"})


Place = tuple[int, int]  # (pane, shown line number)


@dataclass(frozen=True)
class Panes:
    """A chain and the options for rendering it."""

    chain: Chain
    options: Options

    @cached_property
    def _origin_cache(self) -> dict[tuple[int, int, int], tuple[Place, ...]]:
        """A cache: (number of a join, pane, most origins) → the first origins that the join gives
        to lines of the pane. `closure` says what a join is.
        """
        return {}

    @cached_property
    def index(self) -> Index:
        return Index.from_chain(self.chain)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The name of each pane, which is its stage with a number from the second pane on:
        `kernel`, `kernel 2`, …
        """
        seen: Counter[str] = Counter()
        names = []
        for pane in self.chain.panes:
            seen[pane.stage] += 1
            is_repeated = seen[pane.stage] > 1
            names.append(f"{pane.stage} {seen[pane.stage]}" if is_repeated else pane.stage)
        return tuple(names)

    def place(self, line: int) -> Place:
        """Return the pane of a line, and the line's shown number."""
        pane = self.index.pane(line)
        return pane, line - self.index.starts[pane] + self.chain.panes[pane].first_line

    def id(self, pane: int, line: int | None = None) -> Html:
        """Return the id of a pane, or of a line in it: ``{prefix}-{stage}-L12``."""
        line_part = () if line is None else (f"L{line}",)
        return self.options.id(self.names[pane], *line_part)

    def origins(self, line: int, most_origins: int) -> list[Place]:
        """Return at most `most_origins` origins of `line` in other panes, readable code first.

        A large kernel has thousands of instructions with hundreds of shared origins each, so the
        first origins of each join are cached.
        """
        own_pane = self.index.pane(line)
        origin_places = {
            p
            for join in self.index.origin_joins(line)
            for p in self._first_origins(join, own_pane, most_origins)
        }
        return sorted(origin_places, key=self._sort_key)[:most_origins]

    def _first_origins(self, join: int, own_pane: int, most_origins: int) -> tuple[Place, ...]:
        key = (join, own_pane, most_origins)
        if key not in self._origin_cache:
            places = map(self.place, self.index.joins[join][0])
            others = (place for place in places if place[0] != own_pane)
            self._origin_cache[key] = tuple(
                heapq.nsmallest(most_origins, others, key=self._sort_key)
            )
        return self._origin_cache[key]

    def _sort_key(self, place: Place) -> tuple[bool, Place]:
        return not self.is_readable(place[0]), place

    def is_bare(self, stage: str) -> bool:
        """Return whether the page has the code of a stage as bare text."""
        return self.options.plain or stage in BARE

    def is_readable(self, pane: int) -> bool:
        """Return whether a pane has a stage in READABLE."""
        return self.chain.panes[pane].stage in READABLE

    @cached_property
    def linked_lines(self) -> frozenset[int]:
        """The lines that are the origin of another line, and therefore need an anchor."""
        return frozenset(line for marked, _ in self.index.joins for line in marked)
