"""Say what another PyTorch makes of a job: its graphs compiled again by two, and compared.

Both compile the same graph, as it entered Inductor in the job. So nothing is said of Dynamo and
AOTAutograd, of which another PyTorch may make another graph.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from tclab.capturing.read.stages import Stages
from tclab.capturing.trace.events import Event, Trace
from tclab.compare.causes import Cause, find_causes, join_causes
from tclab.compare.changes import Comparison, compare_snapshots
from tclab.compare.forms import NO, NUMERIC_EFFECTS, UNKNOWN
from tclab.compare.identity import identify_stages
from tclab.compare.words import describe_cause, tabulate_changes
from tclab.jobs.again.graphs import TracedGraph
from tclab.jobs.again.running import answer_graphs, explain_failure
from tclab.model import Snapshot, Table

_CAPTION = (
    "Each PyTorch compiled the graph that entered Inductor in the job; Dynamo and AOTAutograd of "
    "another one may make another graph."
)
_CHOSEN = (
    " Where the job timed candidates on its GPU, both got those that it chose; another PyTorch may "
    "choose others."
)


@dataclass(frozen=True)
class UpgradedGraph:
    """A graph, named by `title`, and what two PyTorches answered. `chosen` says whether the job
    timed candidates.
    """

    title: str
    direction: str
    before: Mapping[str, Any]
    after: Mapping[str, Any]
    snapshots: tuple[Snapshot, Snapshot] = (Snapshot(), Snapshot())
    chosen: bool = False

    @property
    def failure(self) -> str:
        """Why there is nothing to compare; '' if there is."""
        sides = [(_version(each), explain_failure(each)) for each in (self.before, self.after)]
        return "; ".join(f"not compiled by PyTorch {name}: {why}" for name, why in sides if why)

    @cached_property
    def comparison(self) -> Comparison:
        """The differences; none if a side has no code."""
        return Comparison() if self.failure else compare_snapshots(*self.snapshots)

    @cached_property
    def causes(self) -> tuple[Cause, ...]:
        """The causes of differences between kernels, those that can change results first."""
        return find_causes(self.comparison.pairs)

    @property
    def moves_numbers(self) -> str:
        """Whether results can differ, in the words of the forms."""
        found = [each.form.numbers for each in self.causes]
        if any(each.part == "library calls" for each in self.comparison.changes):
            found.append(UNKNOWN)
        return max(found, key=NUMERIC_EFFECTS.index, default=NO)


def compare_graphs(
    graphs: Sequence[tuple[str, TracedGraph]], python: str, other: str
) -> list[UpgradedGraph]:
    """Return what the PyTorch of `python` and that of `other` make of each graph, given with the
    name of its process. What `python` has compiled before is kept.
    """
    plain = [(name, replace(g, question=replace(g.question, stages=""))) for name, g in graphs]
    several = len({name for name, _ in graphs}) > 1
    sides = (answer_graphs(graphs, python=python), answer_graphs(plain, python=other))
    return [
        UpgradedGraph(
            f"{process} {graph.compile_id}" if several else graph.compile_id,
            graph.direction,
            before,
            after,
            (_take_snapshot(graph, before), _take_snapshot(graph, after)),
            bool(graph.question.chosen),
        )
        for (process, graph, before), (_, _, after) in zip(*sides)
    ]


def _take_snapshot(graph: TracedGraph, answer: Mapping[str, Any]) -> Snapshot:
    """Return the identities of what Inductor wrote for a graph, without the graph."""
    code = str(answer.get("code") or "")
    events: list[Event[Any]] = [
        Event("inductor_post_grad_graph", {}, graph.lowered, graph.compile_id),
        Event("inductor_output_code", {}, code, graph.compile_id),
    ]
    found = identify_stages(Stages(Trace(events))) if code else Snapshot()
    return replace(found, graphs=(), findings=(), torch=_version(answer))


def _version(answer: Mapping[str, Any]) -> str:
    return str(answer.get("torch") or "").partition("+")[0]


def tabulate(graphs: Sequence[UpgradedGraph]) -> Iterator[Table]:
    """Yield the tables that have rows: graph by graph, why kernels differ, and what else does."""
    sides = tuple(
        next(filter(None, (_version(answer) for answer in answers)), "that was asked for")
        for answers in zip(*((each.before, each.after) for each in graphs))
    )
    names = " to ".join(sides)
    rows = [
        (each.title, each.direction, None if each.failure else each.moves_numbers,
         _describe(each), *map(_count_kernels, each.snapshots))
        for each in graphs
    ]  # fmt: skip
    caption = _CAPTION + _CHOSEN * any(each.chosen for each in graphs)
    columns = ("graph", "direction", "moves numbers", "what differs",
               *(f"kernels, {side}" for side in sides))  # fmt: skip
    title = f"PyTorch {names}, graph by graph"
    yield Table(title, "upgrade", columns, tuple(rows), caption=caption)
    causes = join_causes(cause for each in graphs for cause in each.causes)
    described = [tuple(describe_cause(each).values()) for each in causes]
    if described:
        heads = ("kernels", "cause", "moves numbers", "memory", "speed", "known as")
        yield Table("Why kernels differ", "upgrade_causes", heads, tuple(described))
    changes = [c for g in graphs for c in g.comparison.changes if c.part != "kernels"]
    if changes:
        table = tabulate_changes(changes, (sides[0], sides[1]))
        yield replace(table, title="What else differs", name="upgrade_changes")


def _count_kernels(snapshot: Snapshot) -> int | None:
    return len(snapshot.kernels) if snapshot.torch else None


def _describe(graph: UpgradedGraph) -> str:
    """Return why a graph is not compared, or the parts that differ, with the cause that can change
    results the most.
    """
    if graph.failure:
        return graph.failure
    parts = dict.fromkeys(c.part for c in graph.comparison.changes if c.part != "kernels")
    if graph.causes:
        worst = graph.causes[0].form
        kernels = f"kernels ({worst.title})" if worst.can_move_numbers else "kernels"
        parts = {kernels: None, **parts}
    return ", ".join(parts) or "nothing"
