"""Inductor's compiles, one `Unit` a graph: IR, fusion decisions, output code and kernels."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tclab.capturing.read import fusion as _fusion
from tclab.capturing.read import output_code
from tclab.capturing.read.kernels import kernels_of
from tclab.capturing.read.output_code import OutputCode, Record
from tclab.capturing.trace import names
from tclab.capturing.trace.events import Event, Trace
from tclab.capturing.trace.notes import BodyNote, KernelNote
from tclab.model import Config, Configuration, FusionPairs, Graph, Kernel, Listing, Resources
from tclab.scrub import scrub

# # AOT ID: ['3_inference']
_AOT_ID = re.compile(r"^# AOT ID: \['(\d+)_(\w+)'\]", re.MULTILINE)
# # kernel path: <inductor-cache>/u7/cu77w6tnalyi3h7eo4v5pvlfzd3pjvufknu6rckbo3at3hzhorpc.py
_KERNEL_PATH = re.compile(r"^# kernel path: .*\n", re.MULTILINE)

_GRAPH = "inductor_post_grad_graph"
#: What belongs to the graph whose post-grad graph came before it.
_EVENTS = (
    *("ir_pre_fusion", "ir_post_fusion", "inductor_output_code", *_fusion.EVENTS),
    *(names.KERNEL_NODES, names.BODY, names.KERNEL),
)


@dataclass(frozen=True)
class CompiledKernel:
    """One Triton kernel, compiled. `configuration`: the one it was compiled with; `candidates`:
    every configuration Inductor would try; `resources`: None where there is no binary;
    `ptx_lines`: line of the SASS → line of the PTX it was made from.
    """

    name: str
    source: str
    configuration: Configuration
    stages: dict[str, Listing] = field(default_factory=dict)
    resources: Resources | None = None
    candidates: tuple[Config, ...] = ()
    ptx_lines: dict[int, int] = field(default_factory=dict)


Compiled = Mapping[str, CompiledKernel]  # Triton kernels by name


@dataclass
class Unit:
    """What Inductor compiled of one graph. Without `ir` or `wrapper` it did not get that far.

    `direction` is forward, backward or inference. `output` is the file that Inductor wrote,
    parsed; `wrapper` the same as it is shown. `body` and `written` say what the loops of the IR
    and the lines of each kernel were made for. `compiled` is empty until
    `Capture.compile_kernels` fills it.
    """

    index: int  # counted from 0
    compile_id: str
    direction: str = ""
    ir_pre_fusion: Listing | None = None
    ir: Listing | None = None
    fusion: tuple[str, ...] = ()
    pairs: FusionPairs | None = None
    output: OutputCode = field(default_factory=OutputCode)
    wrapper: Listing | None = None
    kernels: tuple[Kernel, ...] = ()
    body: BodyNote | None = None
    written: tuple[KernelNote, ...] = ()
    compiled: Compiled = field(default_factory=dict)

    def written_for(self, kernel: Kernel) -> list[KernelNote]:
        """The lines that were written as this kernel."""
        return [note for note in self.written if note.name == kernel.kernel_name]

    @property
    def where(self) -> str:
        """What titles say of it."""
        return f", {self.direction}" if self.direction else ""


def units(trace: Trace, post_grad: tuple[Graph, ...]) -> tuple[Unit, ...]:
    """Each Inductor compile, in order; they do not nest. `post_grad` are the graphs lowered."""
    unique = _Unique()
    return tuple(
        events.unit(index, unique) for index, events in enumerate(_by_compile(trace, post_grad))
    )


def fusion(units: tuple[Unit, ...]) -> Listing:
    """What the scheduler looked at, fused or did not, and why, for all graphs together."""
    several = [
        f"# graph {unit.index}{unit.where}\n" + "\n".join(unit.fusion)
        for unit in units
        if unit.fusion
    ]
    return Listing("Fusion decisions", "fusion", scrub("\n\n".join(several)), "text", "ir")


# ------------------------------------------------------------------------------ reading


class _Unique:
    """Deterministic names: ``wrapper-forward``, ``wrapper-backward``, ``wrapper-forward-1`` …"""

    def __init__(self) -> None:
        self.seen: Counter[str] = Counter()

    def __call__(self, name: str) -> str:
        count = self.seen[name]
        self.seen[name] += 1
        return f"{name}-{count}" if count else name


@dataclass
class _CompileEvents:
    """The events of one Inductor compile."""

    compile_id: str
    graph: Graph | None
    pre_fusion: str = ""
    post_fusion: str = ""
    decisions: list[Event[Any]] = field(default_factory=list)  # of the scheduler
    code: str = ""
    record: Record = field(default_factory=dict)
    body: BodyNote | None = None
    written: list[KernelNote] = field(default_factory=list)

    def take(self, event: Event[Any]) -> None:
        if event.name == "ir_pre_fusion":
            self.pre_fusion += event.payload.removeprefix("BEFORE FUSION\n")
        elif event.name == "ir_post_fusion":
            self.post_fusion += event.payload.removeprefix("AFTER FUSION\n")
        elif event.name in _fusion.EVENTS:
            self.decisions.append(event)
        elif event.name == "inductor_output_code":
            self.code = event.payload
        elif event.name == names.KERNEL_NODES:
            self.record = event.data
        elif event.name == names.BODY:
            self.body = event.data
        elif event.name == names.KERNEL:
            self.written.append(event.data)

    def unit(self, index: int, unique: _Unique) -> Unit:
        """All of it, read. The output code is parsed here, and nowhere else."""
        aot_id = _AOT_ID.search(self.code)
        unit = Unit(index, self.compile_id, aot_id[2] if aot_id else "")
        unit.ir_pre_fusion = _ir(unit, self.pre_fusion, unique, fused=False)
        unit.ir = _ir(unit, self.post_fusion, unique, fused=True)
        unit.fusion = tuple(e.payload for e in self.decisions if e.name == "fusion")
        unit.body, unit.written = self.body, tuple(self.written)
        pairs = _fusion.pairs(self.decisions, self.body, self.graph, unit.where)
        unit.pairs = pairs and replace(pairs, name=unique(pairs.name))
        if self.code:
            file = OutputCode.read(_own_ids(self.code, index), self.record, self.graph)
            unit.output, unit.wrapper = file, _wrapper(unit, file, unique)
            unit.kernels = tuple(
                replace(k, name=unique(k.name)) for k in kernels_of(file, unit.direction)
            )
        return unit


def _by_compile(trace: Trace, post_grad: tuple[Graph, ...]) -> Iterator[_CompileEvents]:
    graphs = iter(post_grad)
    current: _CompileEvents | None = None
    for event in trace.named(_GRAPH, *_EVENTS):
        if event.name == _GRAPH or current is None:
            if current is not None:
                yield current
            graph = next(graphs, None) if event.name == _GRAPH else None
            current = _CompileEvents(event.compile_id, graph)
        current.take(event)
    if current is not None:
        yield current


def _own_ids(code: str, index: int) -> str:
    """Output code without the process's counter of AOT graphs and without cache file names."""
    code = _AOT_ID.sub(lambda m: f"# AOT ID: ['{index}_{m[2]}']", code)
    return _KERNEL_PATH.sub("", code)


def _ir(unit: Unit, text: str, unique: _Unique, *, fused: bool) -> Listing | None:
    if not text:
        return None
    when, stage = ("after", "ir") if fused else ("before", "ir_pre_fusion")
    name = unique(f"{stage.replace('_', '-')}-{_way(unit)}")
    code = scrub(text.strip("\n")) + "\n"
    return Listing(f"Inductor IR {when} fusion{unit.where}", name, code, "text", stage)


def _wrapper(unit: Unit, file: OutputCode, unique: _Unique) -> Listing:
    return Listing(
        title=f"Output code{unit.where}",
        name=unique(f"wrapper-{_way(unit)}"),
        code=scrub(output_code.without_handles(file.text)),
        language="python",
        stage="wrapper",
        links=file.line_keys(),
    )


def _way(unit: Unit) -> str:
    return "backward" if unit.direction == "backward" else "forward"
