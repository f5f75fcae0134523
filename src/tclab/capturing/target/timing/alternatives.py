"""The kernels of graphs that were compiled in several ways: which are exact, which one of several,
and which rest on a measured choice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from tclab.capturing.read import output_code
from tclab.capturing.read.units import Unit
from tclab.capturing.result import Capture
from tclab.capturing.target.timing.combinations import Flips
from tclab.capturing.target.timing.timed import CHOICES
from tclab.capturing.target.timing.ways import GraphWays, Variant
from tclab.model import Kernel, TimedAnswer, TimedQuestion
from tclab.model.kernels import given


def units(own: Sequence[Unit], graphs: Sequence[GraphWays]) -> tuple[Unit, ...]:
    """The units of a capture, each followed by what other ways of it have instead. Kernels that
    all have are as they were: they are exact, whatever the GPU chooses.
    """
    every: list[Unit] = []
    done = 0
    for graph in graphs:
        end = graph.after + graph.count
        every += own[done : graph.after]
        every += _Alternatives(graph, own[graph.after : end]).units()
        done = end
    return (*every, *own[done:])


def unnumbered(kernel: Kernel) -> str:
    """A kernel's code without the number it has in the order of writing."""
    return output_code.unnumbered(kernel.kernel_name, kernel.code)[1]


@dataclass
class _Alternatives:
    graph: GraphWays
    first: Sequence[Unit]

    def units(self) -> Iterator[Unit]:
        """The first way's, marked; then of each other way what none before it has."""
        shown = {unnumbered(kernel) for unit in self.first for kernel in unit.kernels}
        for unit in self.first:
            yield replace(unit, kernels=tuple(map(self._first_way, unit.kernels)))
        for variant in sorted(self.graph.variants, key=lambda each: len(each.flips)):
            for unit in self._units[variant.flips]:
                new = [k for k in unit.kernels if unnumbered(k) not in shown]
                shown |= set(map(unnumbered, new))
                if new:
                    yield _only(unit, [self._other_way(k, variant) for k in new])

    @cached_property
    def _units(self) -> dict[Flips, tuple[Unit, ...]]:
        return {variant.flips: Capture(variant.trace).units for variant in self.graph.variants}

    @cached_property
    def _kernels(self) -> dict[Flips, set[str]]:
        return {
            flips: {unnumbered(kernel) for unit in units for kernel in unit.kernels}
            for flips, units in self._units.items()
        }

    @cached_property
    def _otherwise(self) -> set[str]:
        """The kernels there would be if all that was measured came out otherwise."""
        other = self.graph.otherwise
        units = Capture(other.trace).units if other else self.first
        return {unnumbered(kernel) for unit in units for kernel in unit.kernels}

    def _first_way(self, kernel: Kernel) -> Kernel:
        code = unnumbered(kernel)
        if code not in self._otherwise:
            measured = replace(kernel.facts, measured=self.graph.source)
            kernel = replace(kernel, title=f"{kernel.title}, {self.graph.source}", facts=measured)
        return _marked(kernel, self._without(code, Flips()))

    def _other_way(self, kernel: Kernel, variant: Variant) -> Kernel:
        flipped = [TimedAnswer(q, CHOICES[q.choice][1]) for i in variant.flips for q in self._of(i)]
        kept = self._without(unnumbered(kernel), variant.flips)
        return replace(_marked(kernel, [*flipped, *kept]), name=f"{kernel.name}-other")

    def _without(self, code: str, flips: Flips) -> list[TimedAnswer]:
        """The answers that leave a kernel of this way: one more flip takes it away."""
        lost = [other - flips for other, there in self._kernels.items() if code not in there
                and other > flips]  # fmt: skip
        least = [some for some in lost if not any(other < some for other in lost)]
        groups = sorted({group for some in least for group in some})
        return [TimedAnswer(q, CHOICES[q.choice][0]) for group in groups for q in self._of(group)]

    def _of(self, group: int) -> tuple[TimedQuestion, ...]:
        return self.graph.groups[group]


def _marked(kernel: Kernel, answers: Sequence[TimedAnswer]) -> Kernel:
    """The kernel saying with which answers the GPU gets it; as it is, where there are none."""
    if not answers:
        return kernel
    title = f"{kernel.title}, open: with {given(answers)}"
    return replace(kernel, title=title, facts=replace(kernel.facts, open=tuple(answers)))


def _only(unit: Unit, kernels: Sequence[Kernel]) -> Unit:
    """Another way's unit, with what the first has not."""
    return replace(
        unit,
        kernels=tuple(kernels),
        ir=None,
        ir_pre_fusion=None,
        wrapper=None,
        fusion=(),
        pairs=None,
    )
