"""Read Inductor's compiles, one `Unit` per graph: IR, fusion, output code and kernels."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tclab.capturing.read import fusion as _fusion
from tclab.capturing.read import output_code
from tclab.capturing.read.kernels import read_kernels
from tclab.capturing.read.output_code import KernelNodes, OutputCode
from tclab.capturing.read.work import WorkOfTrace
from tclab.capturing.trace import names
from tclab.capturing.trace.events import Event, Trace
from tclab.capturing.trace.notes import KernelNote, LoopBodiesNote
from tclab.model import Config, Configuration, FusionPairs, Graph, Kernel, Listing, Resources
from tclab.text.scrub import scrub

# # AOT ID: ['3_inference']
# Both patterns begin with a literal, for which a search is fast; what is behind must begin a line.
_AOT_ID = re.compile(r"# AOT ID: (?<![^\n]# AOT ID: )\['(\d+)_(\w+)'\]")
# # kernel path: <inductor-cache>/u7/cu77w6tnalyi3h7eo4v5pvlfzd3pjvufknu6rckbo3at3hzhorpc.py
_KERNEL_PATH = re.compile(r"# kernel path: (?<![^\n]# kernel path: ).*\n")

_GRAPH = "inductor_post_grad_graph"
#: Events that belong to the last post-grad graph before them.
_EVENTS = (
    *("ir_pre_fusion", "ir_post_fusion", "inductor_output_code", *_fusion.EVENTS),
    *(names.KERNEL_NODES, names.LOOP_BODIES, names.KERNEL),
)


@dataclass(frozen=True)
class CompiledKernel:
    """A compiled Triton kernel. `configuration` is the configuration with which the kernel was
    compiled, and `candidates` are all configurations that Inductor tries. `resources` is None
    without a binary. `ptx_lines` maps each line of SASS to the line of PTX from which it was made.
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
    """Inductor's compile of one graph. `ir` and `wrapper` are None if the compile ended before
    these stages.

    `direction` is forward, backward or inference. `output` is the parsed output code, and `wrapper`
    is the same file as a listing. `loop_bodies` and `kernel_notes` name the nodes for which
    Inductor made each loop of the IR and each line of a kernel. `Capture.compile_kernels` fills
    `compiled`. `boundary` counts the bytes of the inputs that a run of the graph reads plus the
    bytes of its outputs; None if not known.
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
    loop_bodies: LoopBodiesNote | None = None
    kernel_notes: tuple[KernelNote, ...] = ()
    compiled: Compiled = field(default_factory=dict)
    boundary: int | None = None

    def notes_on(self, kernel: Kernel) -> list[KernelNote]:
        """Return the notes with this kernel's lines."""
        return [note for note in self.kernel_notes if note.name == kernel.kernel_name]

    @property
    def title_suffix(self) -> str:
        """The direction after a comma, for titles; '' if the direction is not known."""
        return f", {self.direction}" if self.direction else ""


def read_units(
    trace: Trace, post_grad: tuple[Graph, ...], *, count_work: bool = True
) -> tuple[Unit, ...]:
    """Return one Unit for each of Inductor's compiles, in order. `post_grad` are the graphs that
    Inductor lowered; they have the same order, because its compiles do not nest. With `count_work`,
    operations and bytes are counted, which needs PyTorch.
    """
    unique, work = _UniqueNames(), WorkOfTrace.read(trace) if count_work else None
    return tuple(
        events.build_unit(index, unique, work)
        for index, events in enumerate(_group_by_compile(trace, post_grad))
    )


def list_fusion_decisions(units: tuple[Unit, ...]) -> Listing:
    """Return the scheduler's log of considered, fused and refused pairs for all graphs."""
    sections = [
        f"# graph {unit.index}{unit.title_suffix}\n" + "\n".join(unit.fusion)
        for unit in units
        if unit.fusion
    ]
    return Listing("Fusion decisions", "fusion", scrub("\n\n".join(sections)), "text", "ir")


# ------------------------------------------------------------------------------ reading


class _UniqueNames:
    """Numbers repeated names: ``wrapper-forward``, ``wrapper-backward``, ``wrapper-forward-1`` …"""

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
    decisions: list[Event[Any]] = field(default_factory=list)  # the scheduler's decisions on fusion
    code: str = ""
    kernel_nodes: KernelNodes = field(default_factory=dict)
    loop_bodies: LoopBodiesNote | None = None
    kernel_notes: list[KernelNote] = field(default_factory=list)

    def add(self, event: Event[Any]) -> None:
        if event.name == "ir_pre_fusion":
            self.pre_fusion += event.payload.removeprefix("BEFORE FUSION\n")
        elif event.name == "ir_post_fusion":
            self.post_fusion += event.payload.removeprefix("AFTER FUSION\n")
        elif event.name in _fusion.EVENTS:
            self.decisions.append(event)
        elif event.name == "inductor_output_code":
            self.code = event.payload
        elif event.name == names.KERNEL_NODES:
            self.kernel_nodes = event.data
        elif event.name == names.LOOP_BODIES:
            self.loop_bodies = event.data
        elif event.name == names.KERNEL:
            self.kernel_notes.append(event.data)

    def build_unit(self, index: int, unique: _UniqueNames, of_trace: WorkOfTrace | None) -> Unit:
        """Build the Unit from all events. Only this method parses the output code."""
        aot_id = _AOT_ID.search(self.code)
        unit = Unit(index, self.compile_id, aot_id[2] if aot_id else "")
        unit.ir_pre_fusion = _ir_listing(unit, self.pre_fusion, unique, is_fused=False)
        unit.ir = _ir_listing(unit, self.post_fusion, unique, is_fused=True)
        unit.fusion = tuple(e.payload for e in self.decisions if e.name == "fusion")
        unit.loop_bodies, unit.kernel_notes = self.loop_bodies, tuple(self.kernel_notes)
        pairs = _fusion.read_pairs(self.decisions, self.loop_bodies, self.graph, unit.title_suffix)
        unit.pairs = pairs and replace(pairs, name=unique(pairs.name))
        if self.code:
            file = OutputCode.parse(_stabilize_ids(self.code, index), self.kernel_nodes, self.graph)
            unit.output, unit.wrapper = file, _wrapper_listing(unit, file, unique)
            work = of_trace.make_work(self.graph) if of_trace and self.graph else None
            unit.kernels = tuple(
                replace(k, name=unique(k.name)) for k in read_kernels(file, unit.direction, work)
            )
            unit.boundary = work.boundary if work else None
        return unit


def _group_by_compile(trace: Trace, post_grad: tuple[Graph, ...]) -> Iterator[_CompileEvents]:
    graphs = iter(post_grad)
    current: _CompileEvents | None = None
    for event in trace.select(_GRAPH, *_EVENTS):
        if event.name == _GRAPH or current is None:
            if current is not None:
                yield current
            graph = next(graphs, None) if event.name == _GRAPH else None
            current = _CompileEvents(event.compile_id, graph)
        current.add(event)
    if current is not None:
        yield current


def _stabilize_ids(code: str, index: int) -> str:
    """Replace the process-wide number of the AOT graph in output code by `index`, and remove the
    names of cache files.
    """
    code = _AOT_ID.sub(lambda m: f"# AOT ID: ['{index}_{m[2]}']", code)
    return _KERNEL_PATH.sub("", code)


def _ir_listing(unit: Unit, text: str, unique: _UniqueNames, *, is_fused: bool) -> Listing | None:
    if not text:
        return None
    when, stage = ("after", "ir") if is_fused else ("before", "ir_pre_fusion")
    name = unique(f"{stage.replace('_', '-')}-{_forward_or_backward(unit)}")
    code = scrub(text.strip("\n")) + "\n"
    return Listing(f"Inductor IR {when} fusion{unit.title_suffix}", name, code, "text", stage)


def _wrapper_listing(unit: Unit, file: OutputCode, unique: _UniqueNames) -> Listing:
    return Listing(
        title=f"Output code{unit.title_suffix}",
        name=unique(f"wrapper-{_forward_or_backward(unit)}"),
        code=scrub(output_code.strip_handles(file.text)),
        language="python",
        stage="wrapper",
        links=file.keys_by_line(),
    )


def _forward_or_backward(unit: Unit) -> str:
    return "backward" if unit.direction == "backward" else "forward"
