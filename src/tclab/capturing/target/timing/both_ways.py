"""A graph compiled as far as it is known, and once more where timing on the GPU would decide."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from torch._guards import TracingContext

from tclab.capturing.target.timing import timed
from tclab.capturing.trace.events import Trace
from tclab.model import TimedQuestion


class Wrappers(list[str]):
    """The wrapper code of each graph Inductor compiled, in order."""


@dataclass(frozen=True)
class Variant:
    """What a graph becomes if each of `questions` is answered the other way. `after` is how many
    graphs Inductor had compiled before it, `instead_of` how many of them it stands for.
    """

    questions: tuple[TimedQuestion, ...]
    trace: Trace
    wrappers: Wrappers
    after: int
    instead_of: int


@dataclass
class BothWays:
    """Compiles graphs into `trace` and `wrappers`, and keeps their variants."""

    trace: Trace
    wrappers: Wrappers
    fixed: Mapping[str, str]
    variants: list[Variant] = field(default_factory=list)

    def compile(self, make: Callable[[], object]) -> None:
        """Let `make` compile a graph; a second time, aside, if it asked what nothing fixes."""
        before = len(self.wrappers)
        with timed.asking(self.fixed) as questions:
            make()
        if not questions:
            return
        done = len(self.wrappers)
        second = timed.asking(self.fixed, second=True)
        with self.trace.aside() as trace, _context_kept(), second:
            make()
        wrappers = Wrappers(self.wrappers[done:])
        del self.wrappers[done:]
        variant = Variant(tuple(questions), trace, wrappers, before, done - before)
        self.variants.append(variant)


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
