"""Which combinations of decisions are to be compiled, so that each kernel there can be is seen.

A kernel hangs on few decisions: those of the products it touches. Each decision is taken otherwise
once, alone; a kernel that several of them change is compiled in each combination of those.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import combinations

#: The decisions that are taken otherwise.
Flips = frozenset[int]
#: Compiles of one graph, at most.
MOST_COMPILES = 24


def explored(count: int, kernels: Callable[[Flips], Counter[str]]) -> dict[Flips, Counter[str]]:
    """What `kernels` says of no flip, each, each combination that a kernel hangs on, and all."""
    seen = {Flips(): kernels(Flips())}
    for one in range(count):
        seen[Flips({one})] = kernels(Flips({one}))
    for flips in _together(seen, count):
        if flips not in seen and len(seen) < MOST_COMPILES:
            seen[flips] = kernels(flips)
    if count > 1:
        _explain_all(seen, count, kernels)
    return seen


def _together(seen: dict[Flips, Counter[str]], count: int) -> list[Flips]:
    """The combinations of decisions that change one kernel, small ones first."""
    changing = {
        frozenset(i for i in range(count) if kernel not in seen[Flips({i})])
        for kernel in seen[Flips()]
    }
    several = {
        Flips(some)
        for decisions in changing
        for size in range(2, len(decisions) + 1)
        for some in combinations(sorted(decisions), size)
    }
    return sorted(several, key=lambda flips: (len(flips), sorted(flips)))


def _explain_all(
    seen: dict[Flips, Counter[str]], count: int, kernels: Callable[[Flips], Counter[str]]
) -> None:
    """Flip all. If that has a kernel that nothing had so far, it hangs on decisions that share no
    kernel until they are flipped: neighbours are tried.
    """
    known = {kernel for each in seen.values() for kernel in each}
    every = Flips(range(count))
    if every not in seen:
        seen[every] = kernels(every)
    for pair in _neighbours(count):
        if seen[every].keys() <= known or len(seen) >= MOST_COMPILES:
            return
        if pair not in seen:
            seen[pair] = kernels(pair)
            known |= seen[pair].keys()


def _neighbours(count: int) -> Iterator[Flips]:
    for distance in (1, 2):
        for first in range(count - distance):
            yield Flips({first, first + distance})
