"""A graph compiled as far as it is known, and again where timing on the GPU would decide."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from torch._guards import TracingContext

from tclab.capturing.read.output_code import OutputCode, unnumbered
from tclab.capturing.target.timing import timed
from tclab.capturing.target.timing.combinations import Flips, explored
from tclab.capturing.target.timing.measured import NOTHING, Measurements
from tclab.capturing.trace.events import Trace
from tclab.model import TimedQuestion

#: Of more decisions, those that are this far apart in a graph are taken together.
MOST_GROUPS = 8


class Wrappers(list[str]):
    """The wrapper code of each graph Inductor compiled, in order."""

    @property
    def kernels(self) -> Counter[str]:
        """The Triton kernels in it, without the numbers in their names."""
        files = map(OutputCode.read, self)
        named = (kernel for file in files for kernel in file.triton_sources().items())
        return Counter(unnumbered(*kernel)[1] for kernel in named)


@dataclass(frozen=True)
class Variant:
    """What a graph becomes if the questions of the groups `flips` get the other answer."""

    flips: Flips
    trace: Trace
    wrappers: Wrappers


@dataclass(frozen=True)
class GraphWays:
    """The ways of one graph, beside the first, of which Inductor had compiled `after` graphs before
    and `count` for it. The questions of a group have one answer. `otherwise` is what it were if all
    that was `measured` came out otherwise: it tells which kernels rest on that.
    """

    after: int
    count: int
    groups: tuple[tuple[TimedQuestion, ...], ...]
    variants: tuple[Variant, ...]
    measured: tuple[TimedQuestion, ...] = ()
    otherwise: Variant | None = None
    source: str = ""

    @property
    def questions(self) -> tuple[TimedQuestion, ...]:
        """All that are open."""
        return tuple(question for group in self.groups for question in group)


@dataclass
class Ways:
    """Compiles graphs into `trace` and `wrappers`, and keeps what else they may become."""

    trace: Trace
    wrappers: Wrappers
    fixed: Mapping[str, str]
    measurements: Measurements = NOTHING
    graphs: list[GraphWays] = field(default_factory=list)

    def compile(self, make: Callable[[], object]) -> None:
        """Let `make` compile a graph; again, aside, if it asked what nothing fixes."""
        before = len(self.wrappers)
        with timed.asking(self.fixed, self.measurements) as asked:
            make()
        if asked.open or asked.measured:
            self.graphs.append(self._ways(make, before, asked))

    def _ways(self, make: Callable[[], object], before: int, asked: timed.Asked) -> GraphWays:
        first = Wrappers(self.wrappers[before:])
        groups = grouped(tuple(asked.open))
        variants: dict[Flips, Variant] = {}

        def kernels(flips: Flips) -> Counter[str]:
            if not flips:
                return first.kernels
            asked_there = [question for i in sorted(flips) for question in groups[i]]
            variants[flips] = self._variant(make, flips, asked_there)
            return variants[flips].wrappers.kernels

        explored(len(groups), kernels)
        rests = tuple(asked.measured)
        otherwise = self._variant(make, frozenset(), rests) if rests else None
        return GraphWays(
            before,
            len(first),
            groups,
            tuple(variants.values()),
            rests,
            otherwise,
            self.measurements.source,
        )

    def _variant(
        self, make: Callable[[], object], flips: Flips, questions: Sequence[TimedQuestion]
    ) -> Variant:
        done = len(self.wrappers)
        keys = frozenset(question.key for question in questions)
        again = timed.asking(self.fixed, self.measurements, keys)
        with self.trace.aside() as trace, _context_kept(), again:
            make()
        wrappers = Wrappers(self.wrappers[done:])
        del self.wrappers[done:]
        return Variant(flips, trace, wrappers)


def grouped(questions: Sequence[TimedQuestion]) -> tuple[tuple[TimedQuestion, ...], ...]:
    """The questions by key, in order; of more than `MOST_GROUPS` keys, several are of one group."""
    keys = tuple(dict.fromkeys(question.key for question in questions))
    number = {key: place % MOST_GROUPS for place, key in enumerate(keys)}
    count = min(len(keys), MOST_GROUPS)
    return tuple(tuple(q for q in questions if number[q.key] == group) for group in range(count))


@contextmanager
def _context_kept() -> Iterator[None]:
    """What AOTAutograd leaves for Dynamo is that of the first compile."""
    context = TracingContext.try_get()
    before = dict(vars(context)) if context else {}
    try:
        yield
    finally:
        if context:
            vars(context).update(before)
