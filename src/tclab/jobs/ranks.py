"""Compare the processes of a job. Find the groups of processes that did the same, and the first
step in which two processes differ.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from tclab.model import JobCompile, JobProcess

#: A step of a process in words; two processes did the same if all their steps are equal.
Step = str


def group_equal(processes: Sequence[JobProcess]) -> list[list[JobProcess]]:
    """Group the processes with equal steps, in the order of the first process of each group."""
    groups: dict[tuple[Step, ...], list[JobProcess]] = defaultdict(list)
    for process in processes:
        groups[tuple(list_steps(process))].append(process)
    return list(groups.values())


def first_difference(first_process: JobProcess, second_process: JobProcess) -> tuple[Step, Step]:
    """Return the two processes' steps at the first position at which they differ; '' for a process
    that has no step there, and for both if all steps are equal.
    """
    pairs = zip_longest(list_steps(first_process), list_steps(second_process), fillvalue="")
    return next((pair for pair in pairs if pair[0] != pair[1]), ("", ""))


def list_steps(process: JobProcess) -> Iterator[Step]:
    """Yield what a process compiled, in order: the frames, each with the guard that failed before
    it, then the kernels of each graph, then the collectives of each graph.
    """
    reasons = {each.compile_id: each.reasons for each in process.recompiles.recompiles}
    for each in process.compiles:
        why = "".join(f", since {reason}" for reason in reasons.get(each.compile_id, ())[:1])
        ended = f", which failed: {each.failure}" if each.failure else ""
        place = _name_place(process, each)
        yield (
            f"compiles {each.function or 'a frame'}{place} {each.compile_id}, {each.direction}, "
            f"{each.operations} operations{why}{ended}"
        )
    for graph in process.graphs:
        kernels = ", ".join(graph.kernels) or "no generated kernel"
        yield f"has the graph {graph.compile_id}, {graph.direction}: {kernels}"
    for number, schedule in enumerate(process.collectives):
        yield f"schedules the collectives of graph {number}: {schedule}"


def _name_place(process: JobProcess, compile_: JobCompile) -> str:
    """Return the line of a function. For a function of a library, add the line of the job's own
    code that called the function.
    """
    line = compile_.location
    if line is None:
        return ""
    own = process.callers.get(f"{line.file}:{compile_.function}")
    return f" ({line}, called at {own})" if own else f" ({line})"
