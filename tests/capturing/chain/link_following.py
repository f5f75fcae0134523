"""Follow a chain's links up and down."""

from __future__ import annotations

from collections.abc import Callable

import tclab
from tclab.model import Chain, Listing

Captured = Callable[[str, str], tclab.Capture]  # name of a function, device
Place = tuple[int, int]  # index of the pane, line


def pane(chain: Chain, stage: str, number: int = 0) -> Listing:
    """Return the n-th pane of a stage."""
    return [p for p in chain.panes if p.stage == stage][number]


class Ways:
    """Every line of a chain, with its direct origins and descendants."""

    def __init__(self, chain: Chain) -> None:
        self.chain = chain
        marked: dict[str, list[Place]] = {}
        for i, p in enumerate(chain.panes):
            for line, keys in p.marks.items():
                for key in keys:
                    marked.setdefault(key, []).append((i, line))
        self.up: dict[Place, set[Place]] = {}
        self.down: dict[Place, set[Place]] = {}
        for i, p in enumerate(chain.panes):
            for line, keys in p.links.items():
                for above in (place for key in keys for place in marked.get(key, [])):
                    self.up.setdefault((i, line), set()).add(above)
                    self.down.setdefault(above, set()).add((i, line))

    def reach(self, place: Place, ways: dict[Place, set[Place]]) -> set[Place]:
        """Return all places that can be reached from a line."""
        found: set[Place] = set()
        waiting = [place]
        while waiting:
            for there in ways.get(waiting.pop(), set()) - found:
                found.add(there)
                waiting.append(there)
        return found

    def text(self, place: Place) -> str:
        """Return the text of a line."""
        return self.chain.panes[place[0]].code.splitlines()[place[1] - 1].strip()

    def stages(self, places: set[Place]) -> set[str]:
        """Return the stages of these lines."""
        return {self.chain.panes[i].stage for i, _ in places}

    def origins(self, place: Place, stage: str) -> list[str]:
        """Return the lines of one stage from which a line was made, in order."""
        above = sorted(self.reach(place, self.up))
        return [self.text(p) for p in above if self.chain.panes[p[0]].stage == stage]
