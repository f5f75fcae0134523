"""A chain with what its panes need of each other: names, ids, where lines came from."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from tclab.render import stages
from tclab.render.closure import Index

if TYPE_CHECKING:
    from tclab.model import Chain
    from tclab.render.options import Options

#: Stages whose text is long: bare, made into lines and coloured by the page's script.
BARE = stages.MACHINE | {"ir_pre_fusion", "ir"}

#: Stages in code that people write or read, not a compiler's own.
READABLE = frozenset({"python", "kernel", "cpp"})


@dataclass(frozen=True)
class Panes:
    """A chain and how it is to be shown."""

    chain: Chain
    options: Options

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

    def place(self, line: int) -> tuple[int, int]:
        """Pane, and the line's number as it is shown."""
        pane = self.index.pane(line)
        return pane, line - self.index.starts[pane] + self.chain.panes[pane].first_line

    def id(self, pane: int, line: int | None = None) -> str:
        """The anchor of a pane or of a line in it: ``{prefix}-{stage}-L12``."""
        end = () if line is None else (f"L{line}",)
        return self.options.id(self.names[pane], *end)

    def origins(self, line: int) -> list[tuple[int, int]]:
        """Where `line` came from: (pane, line as shown), those in readable code first."""
        own = self.index.pane(line)
        above = [p for p in map(self.place, self.index.step([line], 1)) if p[0] != own]
        return sorted(above, key=lambda p: (not self.readable(p[0]), p))

    def readable(self, pane: int) -> bool:
        """Whether a pane holds code that people write or read."""
        return self.chain.panes[pane].stage in READABLE

    @cached_property
    def led_to(self) -> frozenset[int]:
        """The lines that links of origin lead to: they need an anchor of their own."""
        return frozenset(line for marked, _ in self.index.joins for line in marked)
