"""Read the scheduler's decision on each pair of nodes, from the scheduler's log and tclab's
notes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tclab.capturing.trace import names
from tclab.capturing.trace.events import Event
from tclab.capturing.trace.notes import FusedNote, FusionQueryNote, LoopBodiesNote
from tclab.model import FusionPair, FusionPairs, Graph, Node, ScheduledNode

#: Names of the events that `read_pairs` reads.
EVENTS = ("fusion", names.FUSION_QUERY, names.FUSED)

# cannot fuse op0 with op1: no shared data
REFUSAL = re.compile(r"^cannot fuse (\w+) with (\w+): (.*)$", re.MULTILINE)
# ===== attempting fusion (1/10): 2 nodes =====
_ROUND = re.compile(r"^===== attempting fusion \((\d+)/\d+\): \d+ nodes =====$", re.MULTILINE)

PairKey = tuple[str, str]  # the names of two scheduler nodes in the log


@dataclass
class _PairDecisions:
    """Collects the decisions on pairs, in the order in which the scheduler first considers them."""

    pairs: dict[PairKey, FusionPair] = field(default_factory=dict)
    reasons: dict[PairKey, str] = field(default_factory=dict)
    round: int = 1

    def add(self, event: Event[Any]) -> None:
        if event.name == names.FUSION_QUERY:
            self._add_query(event.data)
        elif event.name == names.FUSED:
            self._add_fusion(event.data)
        else:
            self._add_log(event.payload)

    def _add_log(self, text: str) -> None:
        if match := _ROUND.search(text):
            self.round = int(match[1])
        for first, second, reason in REFUSAL.findall(text):
            self.reasons[first, second] = reason

    def _add_query(self, note: FusionQueryNote) -> None:
        key = _pair_key(note)
        known = self.pairs.get(key)
        self.pairs[key] = FusionPair(
            note.first,
            note.second,
            "possible" if note.may else "refused",
            declined_by=note.declined_by,
            shared=dict(note.shared),
            round=known.round if known else self.round,
        )
        if note.may:
            self.reasons.pop(key, None)  # drop the reason of an earlier round

    def _add_fusion(self, note: FusedNote) -> None:
        pair = self.pairs.get(_pair_key(note)) or FusionPair(note.first, note.second, "fused")
        fused = replace(
            pair, verdict="fused", before=note.before, after=note.after, round=self.round
        )
        self.pairs[_pair_key(note)] = fused

    def final_pairs(self) -> Iterable[FusionPair]:
        """Yield each pair with its final verdict. A later refusal in the log overrides
        "possible".
        """
        for key, pair in self.pairs.items():
            reason = "" if pair.verdict == "fused" else self.reasons.get(key, "")
            yield replace(pair, reason=reason, verdict="refused" if reason else pair.verdict)


def _pair_key(note: FusionQueryNote | FusedNote) -> PairKey:
    return "_".join(note.first), "_".join(note.second)


def read_pairs(
    events: Sequence[Event[Any]],
    body: LoopBodiesNote | None,
    graph: Graph | None,
    title_suffix: str = "",
) -> FusionPairs | None:
    """Return the decisions of one compile, or None if it ended before the scheduler's IR was
    logged. `graph` is the lowered graph: the user's lines come from its nodes.
    """
    decisions = _PairDecisions()
    for event in events:
        decisions.add(event)
    if body is None:
        return None
    nodes = {node.name: node for node in graph.nodes} if graph else {}
    return FusionPairs(
        f"Why fused, why not{title_suffix}",
        "fusion-pairs",
        tuple(_scheduled_node(name, body, nodes) for name in body.origins),
        tuple(decisions.final_pairs()),
        tuple(group.ops for group in body.groups),
        events[0].compile_id if events else "",
    )


def _scheduled_node(name: str, body: LoopBodiesNote, nodes: Mapping[str, Node]) -> ScheduledNode:
    computes = [origin for _, origin in body.origins[name]]
    lines = [nodes[c].source for c in computes if c in nodes]
    return ScheduledNode(
        name, tuple(computes), tuple(dict.fromkeys(line for line in lines if line is not None))
    )
