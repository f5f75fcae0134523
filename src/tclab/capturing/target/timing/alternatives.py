"""Mark the kernels of graphs in which a GPU would decide questions by timing. tclab compiled such a
graph with several answers to these questions. A kernel is exact, or one of several alternatives, or
it depends on a measured or likely answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from tclab.capturing.read import output_code
from tclab.capturing.read.units import Unit
from tclab.capturing.result import Capture
from tclab.capturing.target.timing.combinations import FlippedChoices
from tclab.capturing.target.timing.timed import CHOICES
from tclab.capturing.target.timing.variants import GraphAlternatives, Variant
from tclab.model import Kernel, TimedAnswer, TimedQuestion
from tclab.model.kernels import LIKELY, format_answers


def units_with_alternatives(
    units: Sequence[Unit], graphs: Sequence[GraphAlternatives]
) -> tuple[Unit, ...]:
    """Return the units of a capture, each followed by units with the kernels of its alternatives. A
    kernel that all alternatives have is not marked, because it is exact for every choice of the
    GPU.
    """
    result: list[Unit] = []
    done = 0
    for graph in graphs:
        end = graph.graphs_before + graph.count
        result += units[done : graph.graphs_before]
        result += _GraphUnits(graph, units[graph.graphs_before : end]).units()
        done = end
    return (*result, *units[done:])


def unnumbered_code(kernel: Kernel) -> str:
    """Return a kernel's code without the running number that Inductor gives the kernel."""
    return output_code.strip_number(kernel.kernel_name, kernel.code)[1]


@dataclass
class _GraphUnits:
    graph: GraphAlternatives
    first_compile_units: Sequence[Unit]

    def units(self) -> Iterator[Unit]:
        """Yield the marked units of the first compile, then units with the new kernels of each
        variant.
        """
        shown = {
            unnumbered_code(kernel) for unit in self.first_compile_units for kernel in unit.kernels
        }
        for unit in self.first_compile_units:
            yield replace(unit, kernels=tuple(map(self._mark_first, unit.kernels)))
        for variant in sorted(self.graph.variants, key=lambda v: len(v.flipped)):
            for unit in self._units[variant.flipped]:
                new = [k for k in unit.kernels if unnumbered_code(k) not in shown]
                shown |= set(map(unnumbered_code, new))
                if new:
                    yield _reduce_unit(unit, [self._mark_alternative(k, variant) for k in new])

    @cached_property
    def _units(self) -> dict[FlippedChoices, tuple[Unit, ...]]:
        return {variant.flipped: Capture(variant.trace).units for variant in self.graph.variants}

    @cached_property
    def _kernels(self) -> dict[FlippedChoices, set[str]]:
        return {
            flipped: {unnumbered_code(kernel) for unit in units for kernel in unit.kernels}
            for flipped, units in self._units.items()
        }

    @cached_property
    def _kernels_unless_measured(self) -> set[str]:
        """The kernels that Inductor writes with the opposite answer to each measured choice."""
        return self._list_kernels(self.graph.counterfactual)

    @cached_property
    def _unlikely_kernels(self) -> set[str]:
        """The kernels that Inductor writes with the opposite answer to each choice with a likely
        answer.
        """
        return self._list_kernels(self.graph.unlikely)

    def _list_kernels(self, variant: Variant | None) -> set[str]:
        """Return the kernels of a variant, or of the first compile if `variant` is None."""
        units = Capture(variant.trace).units if variant else self.first_compile_units
        return {unnumbered_code(kernel) for unit in units for kernel in unit.kernels}

    @cached_property
    def _likely_answers(self) -> list[TimedAnswer]:
        """The likely answers that were used, one for each key."""
        by_key = {question.key: question for question in reversed(self.graph.likely)}
        return [TimedAnswer(q, LIKELY[q.choice]) for q in reversed(by_key.values())]

    def _mark_first(self, kernel: Kernel) -> Kernel:
        code = unnumbered_code(kernel)
        if code not in self._kernels_unless_measured:
            measured = replace(kernel.facts, measured=self.graph.source)
            kernel = replace(kernel, title=f"{kernel.title}, {self.graph.source}", facts=measured)
        likely = [] if code in self._unlikely_kernels else self._likely_answers
        return _add_answers(kernel, [*likely, *self._required_answers(code, FlippedChoices())])

    def _mark_alternative(self, kernel: Kernel, variant: Variant) -> Kernel:
        flipped = [
            TimedAnswer(q, CHOICES[q.choice][1])
            for i in variant.flipped
            for q in self._list_questions(i)
        ]
        required = self._required_answers(unnumbered_code(kernel), variant.flipped)
        return replace(_add_answers(kernel, [*flipped, *required]), name=f"{kernel.name}-other")

    def _required_answers(self, code: str, flipped_choices: FlippedChoices) -> list[TimedAnswer]:
        """Return the answers that a variant's kernel depends on. The kernel depends on a further
        choice if it disappears when the choice is flipped, too. Only the smallest sets of such
        choices count.
        """
        removing = [
            other - flipped_choices
            for other, codes in self._kernels.items()
            if code not in codes and other > flipped_choices
        ]
        minimal = [groups for groups in removing if not any(other < groups for other in removing)]
        needed = sorted({group for groups in minimal for group in groups})
        return [
            TimedAnswer(q, CHOICES[q.choice][0])
            for group in needed
            for q in self._list_questions(group)
        ]

    def _list_questions(self, group: int) -> tuple[TimedQuestion, ...]:
        return self.graph.groups[group]


def _add_answers(kernel: Kernel, answers: Sequence[TimedAnswer]) -> Kernel:
    """Return the kernel with a title that names the answers that lead to it; unchanged without
    answers.
    """
    if not answers:
        return kernel
    title = f"{kernel.title}, open: with {format_answers(answers)}"
    return replace(kernel, title=title, facts=replace(kernel.facts, open=tuple(answers)))


def _reduce_unit(unit: Unit, kernels: Sequence[Kernel]) -> Unit:
    """Return a variant's unit reduced to the given kernels, which the first compile does not
    have.
    """
    return replace(
        unit,
        kernels=tuple(kernels),
        ir=None,
        ir_pre_fusion=None,
        wrapper=None,
        fusion=(),
        pairs=None,
    )
