"""Inductor's IR, fusion decisions and generated code, compile by compile."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from tclab.capturing.read import graphs, output_code
from tclab.capturing.trace.events import Event, Trace
from tclab.model import Graph, Kernel, Listing
from tclab.scrub import scrub

# # AOT ID: ['3_inference']
_AOT_ID = re.compile(r"^# AOT ID: \['(\d+)_(\w+)'\]", re.MULTILINE)
# # kernel path: <inductor-cache>/u7/cu77w6tnalyi3h7eo4v5pvlfzd3pjvufknu6rckbo3at3hzhorpc.py
_KERNEL_PATH = re.compile(r"^# kernel path: .*\n", re.MULTILINE)

#: What belongs to the graph whose post-grad graph came before it.
_EVENTS = "ir_pre_fusion", "ir_post_fusion", "fusion", "inductor_output_code", "kernel_nodes"


@dataclass
class Unit:
    """One graph that Inductor compiled. `direction` is forward, backward or inference."""

    index: int
    compile_id: str
    direction: str = ""
    pre_fusion: str = ""
    post_fusion: str = ""
    fusion: list[str] = field(default_factory=list)
    code: str = ""
    nodes: dict[str, tuple[str, ...]] = field(default_factory=dict)  # kernel:handle → FX nodes

    @property
    def done(self) -> bool:
        return bool(self.code)


def units(trace: Trace) -> list[Unit]:
    """The events of each Inductor compile together, in order. Compiles do not nest."""
    found: list[Unit] = []
    for event in trace.named("inductor_post_grad_graph", *_EVENTS):
        if event.name == "inductor_post_grad_graph" or not found:
            found.append(Unit(len(found), event.compile_id))
        _take(found[-1], event)
    return found


def _take(unit: Unit, event: Event) -> None:
    if event.name == "ir_pre_fusion":
        unit.pre_fusion += event.payload.removeprefix("BEFORE FUSION\n")
    elif event.name == "ir_post_fusion":
        unit.post_fusion += event.payload.removeprefix("AFTER FUSION\n")
    elif event.name == "fusion":
        unit.fusion.append(event.payload)
    elif event.name == "kernel_nodes":
        unit.nodes = event.data
    elif event.name == "inductor_output_code":
        unit.code = _own_ids(event.payload, unit.index)
        match = _AOT_ID.search(event.payload)
        unit.direction = match[2] if match else ""


def _own_ids(code: str, index: int) -> str:
    """Output code without the process's counter of AOT graphs and without cache file names."""
    code = _AOT_ID.sub(lambda m: f"# AOT ID: ['{index}_{m[2]}']", code)
    return _KERNEL_PATH.sub("", code)


def ir(trace: Trace, *, fused: bool) -> tuple[Listing, ...]:
    """Inductor's IR of each graph, before or after fusion."""
    stage = "ir" if fused else "ir_pre_fusion"
    when = "after" if fused else "before"
    names = _Names("ir" if fused else "ir-pre-fusion")
    found = []
    for unit in units(trace):
        text = unit.post_fusion if fused else unit.pre_fusion
        if text:
            title = f"Inductor IR {when} fusion{_of(unit)}"
            found.append(Listing(title, names(unit), scrub(text.strip("\n")) + "\n", "text", stage))
    return tuple(found)


def fusion(trace: Trace) -> Listing:
    """What the scheduler looked at, fused or did not, and why, for all graphs together."""
    parts = [
        f"# graph {unit.index}{_of(unit)}\n" + "\n".join(unit.fusion)
        for unit in units(trace)
        if unit.fusion
    ]
    return Listing("Fusion decisions", "fusion", scrub("\n\n".join(parts)), "text", "ir")


def wrapper(trace: Trace) -> tuple[Listing, ...]:
    """The Python file Inductor wrote for each graph."""
    names = _Names("wrapper")
    post = graphs.graphs(trace, "post_grad")
    return tuple(
        Listing(
            title=f"Output code{_of(unit)}",
            name=names(unit),
            code=scrub(output_code.without_handles(unit.code)),
            language="python",
            stage="wrapper",
            links=output_code.wrapper_links(unit.code, unit.nodes, _at(post, unit.index)),
        )
        for unit in units(trace)
        if unit.done
    )


def all_kernels(trace: Trace) -> tuple[Kernel, ...]:
    """Every kernel of every graph, in the order of the calls to them; names made unique."""
    post = graphs.graphs(trace, "post_grad")
    seen: dict[str, int] = {}
    return tuple(
        output_code.renamed(kernel, seen)
        for unit in units(trace)
        for kernel in output_code.kernels(unit.code, unit.nodes, _at(post, unit.index), _of(unit))
    )


def post_grad(trace: Trace) -> Iterator[tuple[Unit, Graph]]:
    """Each Inductor compile with the graph it lowered."""
    return zip(units(trace), graphs.graphs(trace, "post_grad"))


def _at(found: tuple[Graph, ...], index: int) -> Graph | None:
    return found[index] if index < len(found) else None


def _of(unit: Unit) -> str:
    return f", {unit.direction}" if unit.direction else ""


class _Names:
    """Deterministic names: ``wrapper-forward``, ``wrapper-backward``, ``wrapper-forward-1`` …"""

    def __init__(self, stem: str) -> None:
        self.stem, self.seen = stem, {}  # type: ignore[var-annotated]

    def __call__(self, unit: Unit) -> str:
        direction = "backward" if unit.direction == "backward" else "forward"
        count = self.seen[direction] = self.seen.get(direction, -1) + 1
        return f"{self.stem}-{direction}" + (f"-{count}" if count else "")
