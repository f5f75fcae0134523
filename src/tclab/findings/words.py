"""Put several facts into one sentence, and name the processes that it is about."""

from __future__ import annotations

from collections.abc import Sequence

from tclab.model import JobProcess

#: The most facts in one sentence.
_MOST_FACTS = 4


def join_few(facts: Sequence[str]) -> str:
    """Join the first few facts by semicolons, and append how many more there are."""
    more = f"; and {len(facts) - _MOST_FACTS} more" if len(facts) > _MOST_FACTS else ""
    return "; ".join(facts[:_MOST_FACTS]) + more


def name_processes(processes: Sequence[JobProcess], all_processes: Sequence[JobProcess]) -> str:
    """Return which processes of a job a finding is about; '' if it is about all of them."""
    names = {each.name for each in processes}
    if len(names) == len(all_processes):
        return ""
    ranks = [each.rank for each in all_processes]
    if None in ranks or len(set(ranks)) < len(ranks):  # no ranks, or ranks of several runs
        return f" (in {join_few(sorted(names))})"
    found = sorted({each.rank for each in processes if each.rank is not None})
    return f" (on rank {', '.join(map(str, found))} of {len(all_processes)})"
