"""Select the kernels to compile down to instructions, unless the user asks for all of them.

A line that calls a function such as a sine becomes a hundred instructions in each of five stages,
so Triton and the assembler take minutes for a kernel of thousands of lines. The compiler takes a
second for each C++ kernel.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from tclab.capturing.read.units import Unit

#: The most C++ kernels of one graph to compile to instructions.
MOST_CPP_KERNELS = 40


def count_lines(source: str) -> int:
    """Count the lines of a kernel's source."""
    return source.strip("\n").count("\n") + 1


def sources_within_limit(sources: Mapping[str, str], most_lines: int | None) -> dict[str, str]:
    """Select the sources, by name, with at most `most_lines` lines; None selects all."""
    return {
        name: code
        for name, code in sources.items()
        if most_lines is None or count_lines(code) <= most_lines
    }


def sources_to_assemble(sources: Mapping[str, str], most_lines: int | None) -> dict[str, str]:
    """Return the C++ kernels of a graph to compile to instructions: the first `MOST_CPP_KERNELS`
    kernels of at most `most_lines` lines, or all kernels if `most_lines` is None.
    """
    short_sources = sources_within_limit(sources, most_lines)
    if most_lines is None:
        return short_sources
    return dict(islice(short_sources.items(), MOST_CPP_KERNELS))


def explain_left_out_kernels(
    units: Iterable[Unit], most_lines: int | None
) -> Iterator[tuple[str, str]]:
    """Yield the name of each kernel that is not compiled to instructions, and the reason. Of the
    C++ kernels beyond `MOST_CPP_KERNELS` only the first is included.
    """
    for unit in units:
        yield from _explain_too_long(
            unit.output.triton_sources() | unit.output.cpp_sources(), most_lines
        )
        yield from _explain_beyond_count(unit.output.cpp_sources(), most_lines)


def _explain_too_long(
    sources: Mapping[str, str], most_lines: int | None
) -> Iterator[tuple[str, str]]:
    short_sources = sources_within_limit(sources, most_lines)
    cause = "its instructions are left out, because it has {:,} lines, more than {:,}"
    for name, code in sources.items():
        if name not in short_sources:
            yield name, cause.format(count_lines(code), most_lines)


def _explain_beyond_count(
    sources: Mapping[str, str], most_lines: int | None
) -> Iterator[tuple[str, str]]:
    first = sources_to_assemble(sources, most_lines)
    late_kernels = [name for name in sources_within_limit(sources, most_lines) if name not in first]
    more = f", and those of {len(late_kernels) - 1} after it" if late_kernels[1:] else ""
    for name in late_kernels[:1]:
        cause = f"because its graph has more than {len(first)} C++ kernels"
        yield name, f"its instructions are left out{more}, {cause}"
