"""Which kernels are too long to be taken down to instructions unless that is asked for.

A line of a kernel becomes a hundred instructions where it calls a function such as a sine, in each
of five stages; Triton and the assembler take minutes for a kernel of thousands of lines.
"""

from __future__ import annotations

from collections.abc import Mapping


def lines(source: str) -> int:
    """How many lines a kernel's source has."""
    return source.strip("\n").count("\n") + 1


def within(sources: Mapping[str, str], most: int | None) -> dict[str, str]:
    """The sources, by name, that have at most so many lines; all of them without a limit."""
    return {name: code for name, code in sources.items() if most is None or lines(code) <= most}


def above(sources: Mapping[str, str], most: int | None) -> dict[str, int]:
    """The other kernels: name → lines."""
    short = within(sources, most)
    return {name: lines(code) for name, code in sources.items() if name not in short}
