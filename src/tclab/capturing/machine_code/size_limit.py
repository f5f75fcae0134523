"""Which kernels are taken down to instructions unless all of them are asked for.

A line of a kernel becomes a hundred instructions where it calls a function such as a sine, in each
of five stages; Triton and the assembler take minutes for a kernel of thousands of lines. Each C++
kernel takes the compiler a second.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from tclab.capturing.read.units import Unit

MOST_CPP_KERNELS = 40  # of a graph


def lines(source: str) -> int:
    """How many lines a kernel's source has."""
    return source.strip("\n").count("\n") + 1


def within(sources: Mapping[str, str], most: int | None) -> dict[str, str]:
    """The sources, by name, that have at most so many lines; all of them without a limit."""
    return {name: code for name, code in sources.items() if most is None or lines(code) <= most}


def assembled(sources: Mapping[str, str], most: int | None) -> dict[str, str]:
    """Of a graph's C++ kernels the first that are `within` the limit; all of them without one."""
    return dict(islice(within(sources, most).items(), None if most is None else MOST_CPP_KERNELS))


def left_out(units: Iterable[Unit], most: int | None) -> Iterator[tuple[str, str]]:
    """Kernels that are not taken down to instructions, and why; of those that follow the last
    that is, the first.
    """
    for unit in units:
        yield from _long(unit.output.triton_sources() | unit.output.cpp_sources(), most)
        yield from _late(unit.output.cpp_sources(), most)


def _long(sources: Mapping[str, str], most: int | None) -> Iterator[tuple[str, str]]:
    short = within(sources, most)
    cause = "its instructions are left out, because it has {:,} lines, more than {:,}"
    for name, code in sources.items():
        if name not in short:
            yield name, cause.format(lines(code), most)


def _late(sources: Mapping[str, str], most: int | None) -> Iterator[tuple[str, str]]:
    first = assembled(sources, most)
    late = [name for name in within(sources, most) if name not in first]
    more = f", and those of {len(late) - 1} after it" if late[1:] else ""
    for name in late[:1]:
        cause = f"because its graph has more than {len(first)} C++ kernels"
        yield name, f"its instructions are left out{more}, {cause}"
