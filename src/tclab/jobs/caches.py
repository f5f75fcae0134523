"""Explain why a process missed a cache that another process may have filled. The explanation names
the parts of the cache key that differ between the two processes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tclab.jobs.process import Parts, ReadProcess
from tclab.model import CacheLookup, JobProcess, KeyPart
from tclab.text.scrub import scrub

#: The part of a key that is the graph itself.
_GRAPH = "gm"
#: At most this number of differing parts of a key are named.
_MOST_PARTS = 6


def explain_misses(processes: Sequence[ReadProcess]) -> tuple[JobProcess, ...]:
    """Return the processes with their misses explained: such a look-up names the parts of its key
    that differ from those of an earlier process for the same graph.
    """
    explained = []
    for number, each in enumerate(processes):
        earlier = processes[:number][::-1]
        lookups = (
            _explain_miss(lookup, parts, earlier)
            for lookup, parts in zip(each.process.lookups, each.parts)
        )
        explained.append(replace(each.process, lookups=tuple(lookups)))
    return tuple(explained)


def _explain_miss(
    lookup: CacheLookup, parts: Parts, earlier_processes: Sequence[ReadProcess]
) -> CacheLookup:
    if lookup.state != "miss" or _GRAPH not in parts:
        return lookup
    found = [
        (name, tuple(_differing_parts(of, parts)))
        for name, of in _lookups_of_same_graph(lookup, parts, earlier_processes)
    ]
    # no earlier process had the graph, or one of them had the same key
    if not found or not all(changed for _, changed in found):
        return lookup
    name, changed = min(found, key=lambda each: len(each[1]))
    return replace(lookup, beside=name, changed=changed[:_MOST_PARTS])


def _lookups_of_same_graph(
    lookup: CacheLookup, parts: Parts, earlier_processes: Sequence[ReadProcess]
) -> Iterator[tuple[str, Parts]]:
    """Yield the name of each process that looked up the same graph in the same cache, with the
    parts of that process's key.
    """
    for other in earlier_processes:
        for of_other, found in zip(other.process.lookups, other.parts):
            if of_other.cache == lookup.cache and _part_digest(found, _GRAPH) == _part_digest(
                parts, _GRAPH
            ):
                yield other.process.name, found


def _differing_parts(before: Parts, after: Parts) -> Iterator[KeyPart]:
    """Yield the parts that differ between two keys. Settings come first, because their values are
    readable.
    """
    names = [
        name
        for name in {**before, **after}
        if _part_digest(before, name) != _part_digest(after, name)
    ]
    for name in sorted(names, key=lambda name: "config" not in name):
        yield KeyPart(name, *(scrub(side.get(name, ("", ""))[1]) for side in (before, after)))


def _part_digest(parts: Parts, name: str) -> str:
    """Return the digest of a part in the key; '' if the key lacks this part. The part's value is
    not compared, because it can name an address of the process.
    """
    return parts.get(name, ("", ""))[0]
