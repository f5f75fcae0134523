"""The kernels of graphs that were compiled both ways: which are exact, and which one of two."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from tclab.capturing.read.units import Unit
from tclab.capturing.result import Capture
from tclab.capturing.target.timing.both_ways import Variant
from tclab.capturing.target.timing.timed import CHOICES
from tclab.model import Kernel, TimedAnswer


def units(own: Sequence[Unit], variants: Sequence[Variant]) -> tuple[Unit, ...]:
    """The units of a capture, each followed by what the other way of it has instead. Kernels that
    both have are as they were: they are exact, whatever the GPU chooses.
    """
    both: list[Unit] = []
    done = 0
    for variant in variants:
        end = variant.after + variant.instead_of
        both += own[done : variant.after]
        both += _both(own[variant.after : end], variant)
        done = end
    return (*both, *own[done:])


def _both(first: Sequence[Unit], variant: Variant) -> list[Unit]:
    second = Capture(variant.trace).units
    ways = [Counter(unnumbered(k) for u in units for k in u.kernels) for units in (first, second)]
    exact = ways[0] & ways[1]
    marked = [_marked(unit, exact.copy(), variant, 0) for unit in first]
    others = [_only_open(_marked(unit, exact.copy(), variant, 1)) for unit in second]
    return [*marked, *(unit for unit in others if unit.kernels)]


def unnumbered(kernel: Kernel) -> str:
    """A kernel's code without the number it has in the order of writing."""
    # triton_poi_fused_add_relu_3
    bare = re.sub(r"_\d+$", "", kernel.kernel_name)
    return kernel.code.replace(kernel.kernel_name, bare)


def _marked(unit: Unit, exact: Counter[str], variant: Variant, way: int) -> Unit:
    """The unit with its kernels that are of one way only saying so."""
    kernels = tuple(
        kernel if unnumbered(kernel) in exact else _one_of_two(kernel, variant, way)
        for kernel in unit.kernels
    )
    return replace(unit, kernels=kernels)


def _one_of_two(kernel: Kernel, variant: Variant, way: int) -> Kernel:
    answers = tuple(
        TimedAnswer(question, CHOICES[question.choice][way]) for question in variant.questions
    )
    return replace(
        kernel,
        title=f"{kernel.title}, one of two: with {', '.join(dict.fromkeys(map(str, answers)))}",
        name=kernel.name + "-other" * way,
        facts=replace(kernel.facts, one_of_two=answers),
    )


def _only_open(unit: Unit) -> Unit:
    """The other way's unit, with what the first has not."""
    kernels = tuple(kernel for kernel in unit.kernels if kernel.facts.one_of_two)
    return replace(
        unit, kernels=kernels, ir=None, ir_pre_fusion=None, wrapper=None, fusion=(), pairs=None
    )
