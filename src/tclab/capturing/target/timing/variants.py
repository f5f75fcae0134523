"""Compile a graph, then again for the other answers that timing on the GPU could give."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from torch._guards import TracingContext

from tclab.capturing.read.output_code import OutputCode, strip_number
from tclab.capturing.target.timing import timed
from tclab.capturing.target.timing.combinations import FlippedChoices, explore_combinations
from tclab.capturing.target.timing.measured import NO_MEASUREMENTS, Measurements
from tclab.capturing.trace.events import Trace
from tclab.model import TimedQuestion

#: The most groups of questions in a graph. If there are more questions, each group gets every 8th
#: one.
MOST_GROUPS = 8


class Wrappers(list[str]):
    """The output code of each graph that Inductor compiled, in order."""

    @property
    def kernel_counts(self) -> Counter[str]:
        """Count the Triton kernels by their code without the numbers in their names."""
        files = map(OutputCode.parse, self)
        sources = (kernel for file in files for kernel in file.triton_sources().items())
        return Counter(strip_number(*kernel)[1] for kernel in sources)


@dataclass(frozen=True)
class Variant:
    """The code of a graph that was compiled with the opposite answers to the timing choices in
    `flipped`.
    """

    flipped: FlippedChoices
    trace: Trace
    wrappers: Wrappers


@dataclass(frozen=True)
class GraphAlternatives:
    """Other compiles of one Dynamo graph, with other answers to questions that a GPU decides by
    timing.

    For this Dynamo graph Inductor compiled `count` graphs, after `graphs_before` graphs for earlier
    ones. `groups` are the questions without an answer; each of `variants` reverses the answers that
    were assumed for some groups. `counterfactual` reverses all `measured` answers, so a kernel that
    it lacks depends on a measured answer. `source` says where the answers were measured. `unlikely`
    reverses all `likely` answers.
    """

    graphs_before: int
    count: int
    groups: tuple[tuple[TimedQuestion, ...], ...]
    variants: tuple[Variant, ...]
    measured: tuple[TimedQuestion, ...] = ()
    counterfactual: Variant | None = None
    source: str = ""
    likely: tuple[TimedQuestion, ...] = ()
    unlikely: Variant | None = None

    @property
    def untimed_questions(self) -> tuple[TimedQuestion, ...]:
        """The questions that no timing answered."""
        return (*(question for group in self.groups for question in group), *self.likely)


@dataclass
class GraphCompiler:
    """A compiler of graphs. Inductor writes the code of the graphs into `trace` and `wrappers`;
    `graphs` keeps the alternatives, and `asked` the questions that a GPU decides by timing.
    """

    trace: Trace
    wrappers: Wrappers
    fixed: Mapping[str, str]
    measurements: Measurements = NO_MEASUREMENTS
    graphs: list[GraphAlternatives] = field(default_factory=list)
    asked: dict[TimedQuestion, None] = field(default_factory=dict)

    def compile(self, compile_graph: Callable[[], object]) -> None:
        """Call `compile_graph`. If it met choices that the GPU would make by timing and that
        `fixed` does not answer, call it again for the kernels with the other answers.
        """
        before = len(self.wrappers)
        with timed.answering_questions(self.fixed, self.measurements) as choices:
            compile_graph()
        self.asked |= choices.asked
        if choices.open or choices.measured or choices.likely:
            self.graphs.append(self._compile_alternatives(compile_graph, before, choices))

    def _compile_alternatives(
        self, compile_graph: Callable[[], object], first_wrapper: int, choices: timed.TimedChoices
    ) -> GraphAlternatives:
        first = Wrappers(self.wrappers[first_wrapper:])
        groups = group_questions(tuple(choices.open))
        variants: dict[FlippedChoices, Variant] = {}

        def kernel_counts(flipped: FlippedChoices) -> Counter[str]:
            if not flipped:
                return first.kernel_counts
            questions = [question for i in sorted(flipped) for question in groups[i]]
            variants[flipped] = self._compile_variant(compile_graph, flipped, questions)
            return variants[flipped].wrappers.kernel_counts

        explore_combinations(len(groups), kernel_counts)

        def compile_flipped(questions: tuple[TimedQuestion, ...]) -> Variant | None:
            if not questions:
                return None
            return self._compile_variant(compile_graph, FlippedChoices(), questions)

        measured, likely = tuple(choices.measured), tuple(choices.likely)
        return GraphAlternatives(
            first_wrapper,
            len(first),
            groups,
            tuple(variants.values()),
            measured,
            compile_flipped(measured),
            self.measurements.source,
            likely,
            compile_flipped(likely),
        )

    def _compile_variant(
        self,
        compile_graph: Callable[[], object],
        flipped: FlippedChoices,
        questions: Sequence[TimedQuestion],
    ) -> Variant:
        count_before = len(self.wrappers)
        keys = frozenset(question.key for question in questions)
        answering = timed.answering_questions(self.fixed, self.measurements, keys)
        with self.trace.divert() as trace, _restoring_context(), answering:
            compile_graph()
        wrappers = Wrappers(self.wrappers[count_before:])
        del self.wrappers[count_before:]
        return Variant(flipped, trace, wrappers)


def group_questions(questions: Sequence[TimedQuestion]) -> tuple[tuple[TimedQuestion, ...], ...]:
    """Group the questions by key, in order, into `MOST_GROUPS` groups at most."""
    keys = tuple(dict.fromkeys(question.key for question in questions))
    number = {key: index % MOST_GROUPS for index, key in enumerate(keys)}
    count = min(len(keys), MOST_GROUPS)
    return tuple(tuple(q for q in questions if number[q.key] == group) for group in range(count))


@contextmanager
def _restoring_context() -> Iterator[None]:
    """Restore AOTAutograd's results for Dynamo in the TracingContext after the block."""
    context = TracingContext.try_get()
    before = dict(vars(context)) if context else {}
    try:
        yield
    finally:
        if context:
            vars(context).update(before)
