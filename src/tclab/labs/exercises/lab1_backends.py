"""Lab 1: results (`lab1_equal`), the first call's seconds, and what a backend leaves out."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

from tclab.labs.exercise import Draw, Exercise, all_of
from tclab.labs.exercises.lab1_equal import close_enough
from tclab.labs.exercises.sleeper import Sleeper
from tclab.model import Table

Answer = Callable[..., Any]

# --------------------------------------------------------------------------- first_and_later

first_and_later = Exercise("first_and_later", "The first call against later ones")


def _timed(answer: Answer, *seconds: float) -> tuple[float, float, Sleeper]:
    calls = Sleeper(lambda n: seconds[min(n, len(seconds) - 1)])
    both = answer(calls)
    assert isinstance(both, (tuple, list)), f"it returned {both!r}, not two numbers"
    assert len(both) == 2, f"it returned {len(both)} things, not two numbers"
    return float(both[0]), float(both[1]), calls


@first_and_later.step(
    "two-numbers",
    "returns two numbers of seconds",
    "What does your function return? `first, later`, both in seconds.",
    "Take time.perf_counter() before and after a call; return (first, later) as floats.",
)
def _(answer: Answer, draw: Draw) -> str:
    first, later, _ = _timed(answer, 0.03, 0.01)
    return all_of((0 < later < 5 and 0 < first < 5, f"it returned {first:g} and {later:g} s"))


@first_and_later.step(
    "cold",
    "times the very first call",
    "Was the call that you timed first really the first one?",
    "A call before the clock starts takes the compile with it. Time the first call of all.",
)
def _(answer: Answer, draw: Draw) -> str:
    first, _, calls = _timed(answer, 0.08, 0.005)
    text = f"the first call took {calls.took[0]:.3f} s, and it said {first:.3f} s"
    return all_of((0.9 * calls.took[0] <= first <= 1.5 * calls.took[0] + 0.02, text))


@first_and_later.step(
    "several",
    "makes several later calls",
    "How many calls does your number of later seconds come from?",
    "One call tells nothing of the spread. Make three or more, and take what is typical.",
)
def _(answer: Answer, draw: Draw) -> str:
    _, _, calls = _timed(answer, 0.01, 0.002)
    return all_of((len(calls.took) >= 4, f"it made {len(calls.took)} calls in all"))


@first_and_later.step(
    "mixed",
    "leaves the first call out of the later ones",
    "Is the first call's time in the list that the second number is made from?",
    "Start the list of later times after the first call.",
)
def _(answer: Answer, draw: Draw) -> str:
    _, later, calls = _timed(answer, 0.3, 0.004)
    text = f"later calls took {statistics.median(calls.took[1:]):.4f} s, and it said {later:.4f} s"
    return all_of((later <= 3 * max(calls.took[1:]) and later < 0.02 + max(calls.took[1:]), text))


@first_and_later.step(
    "outlier",
    "gives a typical later call, whatever one slow one took",
    "One of the later calls was interrupted by something else: what does that do to your number?",
    "A mean follows a single outlier. Take the median (statistics.median).",
)
def _(answer: Answer, draw: Draw) -> str:
    _, later, calls = _timed(answer, 0.02, 0.004, 0.25, 0.004)
    typical = statistics.median(calls.took[1:])
    text = (
        f"most later calls took {typical:.4f} s, one {max(calls.took):.2f} s; it said {later:.4f} s"
    )
    return all_of((0.5 * min(calls.took[1:]) <= later <= 2 * typical + 0.005, text))


# --------------------------------------------------------------------------- slowest_phase

slowest_phase = Exercise("slowest_phase", "Where the seconds of the first call go")

_PHASES = (
    "Dynamo",
    "AOTAutograd",
    "Inductor: lowering",
    "Inductor: scheduling and fusion",
    "Inductor: code generation",
    "C++ compiler",
    "Triton compiler",
)


def _times(seconds: dict[str, float], counts: dict[str, int]) -> Table:
    rows = [(phase, counts[phase], seconds[phase]) for phase in seconds]
    rows.append(("Total", 1, sum(seconds.values())))
    return Table("Compile time by phase", "times", ("phase", "times", "seconds"), tuple(rows))


def _drawn(draw: Draw) -> tuple[Table, str]:
    """A table in which neither the first row nor the highest count is the slowest phase."""
    phases = draw.random.sample(_PHASES, 5)
    seconds = {phase: draw.random.uniform(0.1, 1.0) for phase in phases}
    seconds[phases[2]] = 4.0 + draw.random.random()
    counts = {phase: draw.integer(1, 5) for phase in phases} | {phases[4]: 400, phases[2]: 2}
    return _times(seconds, counts), phases[2]


@slowest_phase.step(
    "total",
    "does not answer with the total",
    "Which row of the table is the sum of the others?",
    "Leave out the row whose phase is Total.",
)
def _(answer: Answer, draw: Draw) -> str:
    said = answer(_drawn(draw)[0])
    return all_of(
        (isinstance(said, str), f"it returned {said!r}, not the name of a phase"),
        (said != "Total", "it answered Total"),
    )


@slowest_phase.step(
    "count",
    "goes by seconds, not by how often",
    "Which of the three columns did you compare?",
    "A row is (phase, times, seconds): compare row[2].",
)
def _(answer: Answer, draw: Draw) -> str:
    table, slowest = _drawn(draw)
    said = answer(table)
    text = f"it answered {said!r}, the one that ran most often; slowest is {slowest!r}"
    return all_of((said != table.rows[-2][0], text))


@slowest_phase.step(
    "unseen",
    "is right for tables that it has not seen",
    "Your answer holds for the table of the lab. Does it look at the table that it is given?",
    "Compute the answer from times.rows; the slowest phase is another on another machine.",
)
def _(answer: Answer, draw: Draw) -> str:
    for _ in range(8):
        table, slowest = _drawn(draw)
        said = answer(table)
        if said != slowest:
            return f"it answered {said!r}; slowest is {slowest!r}"
    return ""


# --------------------------------------------------------------------------- stages

stages = Exercise("stages", "What a backend leaves out", frozenset({"cxx"}))


def _gate(x: Any) -> Any:
    return (x.sigmoid() * x).sum(-1)


def _said(answer: Answer, fn: Any, x: Any, backend: Any) -> set[str]:
    said = answer(fn, x, backend)
    assert isinstance(said, (set, frozenset, list, tuple)), f"it returned {said!r}, not a set"
    return set(said)


@stages.step(
    "eager",
    "eager: a graph, and no more",
    "After which stage does the backend `eager` take over?",
    "Dynamo's graph is there (capture.graphs); AOTAutograd and Inductor never ran.",
)
def _(answer: Answer, draw: Draw) -> str:
    said = _said(answer, _gate, draw.tensor(8, 16), "eager")
    return all_of((said == {"graph"}, f"for eager it said {sorted(said)}"))


@stages.step(
    "aten",
    "aot_eager: ATen graphs too, with or without gradients",
    "Which artifact of a capture is there after AOTAutograd when nothing needs a gradient?",
    "capture.joint and .backward need gradients; capture.forward is there in both cases.",
)
def _(answer: Answer, draw: Draw) -> str:
    said = _said(answer, _gate, draw.tensor(8, 16), "aot_eager")
    return all_of((said == {"graph", "aten"}, f"for aot_eager it said {sorted(said)}"))


@stages.step(
    "kernels",
    "inductor: kernels, too",
    "What does only Inductor write?",
    "Look at capture.kernels.",
)
def _(answer: Answer, draw: Draw) -> str:
    said = _said(answer, _gate, draw.tensor(8, 16), "inductor")
    return all_of((said == {"graph", "aten", "kernels"}, f"for inductor it said {sorted(said)}"))


@stages.step(
    "by-name",
    "is right for a backend that has no name",
    "A backend may be any callable. Does your function look at what happened, or at the name?",
    "Capture the compile, and look at what the capture holds; a table of names knows three.",
)
def _(answer: Answer, draw: Draw) -> str:
    def mine(graph: Any, inputs: Any) -> Any:
        return graph.forward

    said = _said(answer, _gate, draw.tensor(8, 16), mine)
    return all_of((said == {"graph"}, f"for a callable that runs the graph it said {sorted(said)}"))


@stages.step(
    "library",
    "does not take a call into a library for a kernel",
    "A matrix product alone, under Inductor: who wrote the code that multiplies?",
    "capture.kernels lists library calls, too, with the category 'extern'. They were not "
    "generated.",
)
def _(answer: Answer, draw: Draw) -> str:
    said = _said(answer, lambda x: x @ x, draw.tensor(64, 64), "inductor")
    return all_of((said == {"graph", "aten"}, f"for a product alone it said {sorted(said)}"))


EXERCISES = [close_enough, first_and_later, slowest_phase, stages]
