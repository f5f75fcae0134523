"""Choose the graphs of a job's processes that are compiled again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tclab.capturing.runnable.question import KERNELS, MACHINE
from tclab.errors import BadRequest
from tclab.jobs.again.graphs import TracedGraph
from tclab.jobs.child import require_compiler
from tclab.jobs.process import ReadProcess


def choose_graphs(
    processes: Sequence[ReadProcess], wanted: Sequence[str], *, stages: bool = False
) -> list[tuple[str, TracedGraph]]:
    """Return each graph whose compile has one of the ids `wanted`, or each graph if there are none,
    with the name of its process. With `stages`, each has its stages; those of a graph that was
    named go down to the instructions, which takes a second or more a kernel. Raises BadRequest if
    there is no such graph, or if PyTorch is not installed.
    """
    place = f"--replay {' '.join(wanted)}".strip()
    require_compiler(place, "--replay")
    ids = [graph.compile_id for each in processes for graph in each.traced]
    if not ids:
        step = "open the trace of a job in which Inductor compiled"
        raise BadRequest(place, "the traces have no graph of Inductor's", step)
    if unknown := [each for each in wanted if each not in ids]:
        step = f"the traces have {', '.join(dict.fromkeys(ids))}"
        raise BadRequest(place, f"no graph of Inductor's in the compile {unknown[0]}", step)
    asked = (MACHINE if wanted else KERNELS) if stages else ""
    return [
        (process.process.name, replace(graph, question=replace(graph.question, stages=asked)))
        for process in processes
        for graph in process.traced
        if not wanted or graph.compile_id in wanted
    ]
