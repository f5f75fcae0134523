"""Read ``shadow.json``: the claims whose outcome differs on a reader's machine, each with
the reason.

    {"inductor": {"guards/values_call_by_call#two-compiles": "Inductor compiles each float anew"},
     "caches": {"caches/what_a_hit_skips": "it waits for a stage that a hit skips"}}

A claim *flips* if its outcome changes. The kind ``inductor`` has the claims that flip if Inductor
replaces the snippet's backend. The kind ``caches`` has the claims that flip if PyTorch's graph
caches are filled. A name without a claim stands for a snippet that does not reach its end, so that
its claims are not judged. The reason says why the flip does not make the snippet's sentences false,
or that the flip does so.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tclab.errors import SnippetError

FILE = "shadow.json"
INDUCTOR, CACHES = "inductor", "caches"


@dataclass(frozen=True)
class Flips:
    """The reasons of flips: kind of run → claim ``topic/snippet#name``, or snippet → reason."""

    by_kind: Mapping[str, Mapping[str, str]]

    def kinds(self, snippet: str, claim: str) -> list[str]:
        """Return the kinds of run in which this claim flips."""
        name = f"{snippet}#{claim}"
        return [kind for kind, listed in self.by_kind.items() if name in listed]


def read(root: Path) -> Flips:
    """Read the flips of the project; there are none without the file. Raises SnippetError for a
    wrong entry.
    """
    path = root / FILE
    try:
        data = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    except ValueError as error:
        raise SnippetError(FILE, f"is no JSON: {error}", "mend it") from None
    for kind, listed in data.items():
        if kind not in (INDUCTOR, CACHES):
            raise SnippetError(FILE, f"unknown part {kind!r}", f"use {INDUCTOR!r} and {CACHES!r}")
        for name, reason in listed.items():
            if not isinstance(reason, str) or not reason.strip():
                raise SnippetError(FILE, f"{name} has no reason", "say why it flips")
    return Flips(data)
