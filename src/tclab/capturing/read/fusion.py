"""What the scheduler decided on each pair of its nodes: from its log, and from what it asked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tclab.capturing.trace import names
from tclab.capturing.trace.events import Event
from tclab.capturing.trace.notes import AskedNote, BodyNote, FusedNote
from tclab.model import FusionPair, FusionPairs, Graph, Node, ScheduledNode

#: What `pairs` reads.
EVENTS = ("fusion", names.ASKED, names.FUSED)

# cannot fuse op0 with op1: no shared data
REFUSED = re.compile(r"^cannot fuse (\w+) with (\w+): (.*)$", re.MULTILINE)
# ===== attempting fusion (1/10): 2 nodes =====
_ROUND = re.compile(r"^===== attempting fusion \((\d+)/\d+\): \d+ nodes =====$", re.MULTILINE)

Key = tuple[str, str]  # the names of two groups, as the log has them


@dataclass
class _Decided:
    """What is known of the pairs so far, in the order they were first considered."""

    pairs: dict[Key, FusionPair] = field(default_factory=dict)
    reasons: dict[Key, str] = field(default_factory=dict)
    round: int = 1

    def take(self, event: Event[Any]) -> None:
        if event.name == names.ASKED:
            self.asked(event.data)
        elif event.name == names.FUSED:
            self.fused(event.data)
        else:
            self.logged(event.payload)

    def logged(self, text: str) -> None:
        if match := _ROUND.search(text):
            self.round = int(match[1])
        for first, second, reason in REFUSED.findall(text):
            self.reasons[first, second] = reason

    def asked(self, note: AskedNote) -> None:
        key = _key(note)
        before = self.pairs.get(key)
        self.pairs[key] = FusionPair(
            note.first,
            note.second,
            "possible" if note.may else "refused",
            declined_by=note.declined_by,
            shared=dict(note.shared),
            round=before.round if before else self.round,
        )
        if note.may:
            self.reasons.pop(key, None)  # of a round before

    def fused(self, note: FusedNote) -> None:
        pair = self.pairs.get(_key(note)) or FusionPair(note.first, note.second, "fused")
        fused = replace(
            pair, verdict="fused", before=note.before, after=note.after, round=self.round
        )
        self.pairs[_key(note)] = fused

    def judged(self) -> Iterable[FusionPair]:
        """A pair that was refused after it had been found possible is refused."""
        for key, pair in self.pairs.items():
            reason = "" if pair.verdict == "fused" else self.reasons.get(key, "")
            yield replace(pair, reason=reason, verdict="refused" if reason else pair.verdict)


def _key(note: AskedNote | FusedNote) -> Key:
    return "_".join(note.first), "_".join(note.second)


def pairs(
    events: Sequence[Event[Any]], body: BodyNote | None, graph: Graph | None, where: str = ""
) -> FusionPairs | None:
    """What was decided in one compile; None where the scheduler did not get to it. `graph` is what
    was lowered; of it are the nodes that the scheduler's compute.
    """
    decided = _Decided()
    for event in events:
        decided.take(event)
    if body is None:
        return None
    known = {node.name: node for node in graph.nodes} if graph else {}
    return FusionPairs(
        f"Why fused, why not{where}",
        "fusion-pairs",
        tuple(_node(name, body, known) for name in body.origins),
        tuple(decided.judged()),
        tuple(group.ops for group in body.groups),
        events[0].compile_id if events else "",
    )


def _node(name: str, body: BodyNote, known: Mapping[str, Node]) -> ScheduledNode:
    computes = [origin for _, origin in body.origins[name]]
    lines = [known[c].source for c in computes if c in known]
    return ScheduledNode(
        name, tuple(computes), tuple(dict.fromkeys(line for line in lines if line is not None))
    )
