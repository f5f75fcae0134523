"""Put several facts into one sentence."""

from __future__ import annotations

from collections.abc import Sequence

#: The most facts in one sentence.
_MOST_FACTS = 4


def join_few(facts: Sequence[str]) -> str:
    """Join the first few facts by semicolons, and append how many more there are."""
    more = f"; and {len(facts) - _MOST_FACTS} more" if len(facts) > _MOST_FACTS else ""
    return "; ".join(facts[:_MOST_FACTS]) + more
