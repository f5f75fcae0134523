"""Select the combinations of choices to compile, so that each possible kernel is seen.

A kernel depends on few choices, which are those of the products that it reads or writes. Each
choice is *flipped* alone once: it gets the opposite answer. If several choices change the same
kernel, each combination of them is compiled.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import combinations

#: The numbers of the choices that get the opposite answer.
FlippedChoices = frozenset[int]
#: The most compiles of one graph.
MOST_COMPILES = 24


def explore_combinations(
    count: int, kernels: Callable[[FlippedChoices], Counter[str]]
) -> dict[FlippedChoices, Counter[str]]:
    """Count the kernels for the combinations of `count` choices that can show another kernel.

    `kernels` compiles one combination and counts its kernels. The combinations are: no choice
    flipped, each choice alone, each set of choices that a kernel depends on, and all choices.
    """
    seen = {FlippedChoices(): kernels(FlippedChoices())}
    for choice in range(count):
        seen[FlippedChoices({choice})] = kernels(FlippedChoices({choice}))
    for flipped in _combinations_of_kernels(seen, count):
        if flipped not in seen and len(seen) < MOST_COMPILES:
            seen[flipped] = kernels(flipped)
    if count > 1:
        _explain_all_flipped(seen, count, kernels)
    return seen


def _combinations_of_kernels(
    seen: dict[FlippedChoices, Counter[str]], count: int
) -> list[FlippedChoices]:
    """Return the combinations of two or more choices that change the same kernel, small ones
    first.
    """
    changing = {
        frozenset(i for i in range(count) if kernel not in seen[FlippedChoices({i})])
        for kernel in seen[FlippedChoices()]
    }
    combined = {
        FlippedChoices(chosen)
        for decisions in changing
        for size in range(2, len(decisions) + 1)
        for chosen in combinations(sorted(decisions), size)
    }
    return sorted(combined, key=lambda flipped: (len(flipped), sorted(flipped)))


def _explain_all_flipped(
    seen: dict[FlippedChoices, Counter[str]],
    count: int,
    kernels: Callable[[FlippedChoices], Counter[str]],
) -> None:
    """Flip all choices. If a kernel appears that no earlier combination had, flip pairs of
    neighbouring choices until each such kernel has appeared with some pair.
    """
    known = {kernel for counts in seen.values() for kernel in counts}
    all_flipped = FlippedChoices(range(count))
    if all_flipped not in seen:
        seen[all_flipped] = kernels(all_flipped)
    for pair in _neighbour_pairs(count):
        if seen[all_flipped].keys() <= known or len(seen) >= MOST_COMPILES:
            return
        if pair not in seen:
            seen[pair] = kernels(pair)
            known |= seen[pair].keys()


def _neighbour_pairs(count: int) -> Iterator[FlippedChoices]:
    for distance in (1, 2):
        for first in range(count - distance):
            yield FlippedChoices({first, first + distance})
