"""Compare the processes of a job. Find the groups of processes that did the same, and the first
steps in which two processes differ.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from tclab.model import JobCompile, JobProcess, process_label

#: A step of a process in words; two processes did the same if all their steps are equal.
Step = str


def group_equal(processes: Sequence[JobProcess]) -> list[list[JobProcess]]:
    """Group the processes with equal steps, in the order of the first process of each group."""
    groups: dict[tuple[Step, ...], list[JobProcess]] = defaultdict(list)
    for process in processes:
        groups[tuple(list_steps(process))].append(process)
    return list(groups.values())


def find_differences(first: JobProcess, second: JobProcess) -> Iterator[tuple[Step, Step]]:
    """Yield the two processes' steps at the first position at which they differ, for each kind of
    step: '' for a process that has no step there. Processes that compile other things differ in all
    that follows, so nothing else is yielded for them.
    """
    for read in (_list_compiles, *_LATER_STEPS):
        pairs = zip_longest(read(first), read(second), fillvalue="")
        if found := next((pair for pair in pairs if pair[0] != pair[1]), None):
            yield found
            if read is _list_compiles:
                return


def list_steps(process: JobProcess) -> Iterator[Step]:
    """Yield what a process compiled and ran, kind by kind."""
    for read in (_list_compiles, *_LATER_STEPS):
        yield from read(process)


def _list_compiles(process: JobProcess) -> Iterator[Step]:
    """Yield what a process compiled, in order: the frames, each with the guard that failed before
    it, then the kernels of each graph.
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


def _list_collectives(process: JobProcess) -> Iterator[Step]:
    seen: Counter[str] = Counter()
    for each in process.collectives:
        graph, _, operator = each.partition(" ")
        seen[graph] += 1
        yield f"calls {operator} as collective {seen[graph]} of the graph {graph}"


def _list_executed(process: JobProcess) -> Iterator[Step]:
    for number, graph in enumerate(process.executed, 1):
        yield f"runs {graph} as graph {number} of those that ran"


def _list_tensors(process: JobProcess) -> Iterator[Step]:
    for each in process.tensors:
        graph, _, tensors = each.partition(" ")
        yield f"makes in the graph {graph} {tensors}"


#: What is compared of processes that compile the same.
_LATER_STEPS = (_list_collectives, _list_executed, _list_tensors)


def compare_caches(processes: Sequence[JobProcess]) -> Iterator[str]:
    """Yield a sentence for each way in which a cache answered processes otherwise than the first
    process, for the same compile. It names the first such compile.
    """
    found: dict[str, list[str]] = defaultdict(list)
    first, *others = processes or [JobProcess("")]
    answers = {(each.compile_id, each.cache): each.state for each in first.lookups}
    for process in others:
        for each in process.lookups:
            before = answers.get((each.compile_id, each.cache), each.state)
            if before != each.state:
                what = f"{each.state} of {each.compile_id} in {each.cache}'s cache"
                found[f"{what}, {before} on {process_label(first)}"].append(process_label(process))
                break
    for what, names in found.items():
        yield f"{', '.join(names)}: {what}"


def _name_place(process: JobProcess, compile_: JobCompile) -> str:
    """Return the line of a function. For a function of a library, add the line of the job's own
    code that called the function.
    """
    line = compile_.location
    if line is None:
        return ""
    own = process.callers.get(f"{line.file}:{compile_.function}")
    return f" ({line}, called at {own})" if own else f" ({line})"
