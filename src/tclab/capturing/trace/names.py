"""Define the names of the events whose data tclab reads, and the type of each event's data.

PyTorch writes some of them to its structured trace: see torch/_dynamo/utils.py
(compilation_metrics, chromium_event), torch/_dynamo/convert_frame.py (dynamo_start) and
torch/fx/experimental/symbolic_shapes.py (create_symbol). tclab adds the others itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import CodeType
from typing import Any, TypedDict

from tclab.capturing.trace.events import EventName
from tclab.capturing.trace.notes import (
    CutNote,
    FusedNote,
    FusionQueryNote,
    GraphNote,
    KernelNote,
    LoopBodiesNote,
    StepNote,
)
from tclab.model import Checkpoints


class _FrameLocation(TypedDict):
    name: str  # the function's name
    filename: str  # PyTorch writes a number, which is resolved before the event is added
    line: int


class TracedFrame(_FrameLocation, total=False):
    """A frame of a traced stack."""

    loc: str  # the source code of the line


class CompileStart(TypedDict):
    """The user's stack at the start of a compile. Its last frame is the one to be compiled."""

    stack: list[TracedFrame]


class CompileMetrics(TypedDict, total=False):
    """The outcome of a compile, and its settings as JSON. The fields of a failure or a skip are
    None if it did not occur.
    """

    fail_type: str | None
    fail_reason: str | None
    cudagraph_skip_reason: str | None
    inductor_config: str | None
    compiler_config: str | None


class ChromeEvent(TypedDict, total=False):
    """The beginning or the end of a phase, in the format of Chrome's trace viewer. `ts` is the time
    in µs.
    """

    name: str
    ph: str  # B: the phase begins, E: it ends
    ts: float
    pid: int
    tid: int


class _RequiredSymbolData(TypedDict):
    symbol: str
    val: str  # the size for which Dynamo created the symbol
    source: str


class CreatedSymbol(_RequiredSymbolData, total=False):
    """A symbol for a size; `vr` is its value range."""

    vr: str
    user_stack: list[TracedFrame]


START: EventName[CompileStart] = EventName("dynamo_start")
METRICS: EventName[CompileMetrics] = EventName("compilation_metrics")
CHROME: EventName[ChromeEvent] = EventName("chromium_event")
VECTOR_ISA = "VecISA.check_build"  # the phase of a ChromeEvent that tclab adds
CREATED_SYMBOL: EventName[CreatedSymbol] = EventName("create_symbol")

#: The original code object and Dynamo's rewritten one; see `trace.constants`.
BYTECODE: EventName[tuple[CodeType, CodeType]] = EventName("bytecode")
#: ``kernel:handle`` → the names of the post-grad nodes that this kernel call computes.
KERNEL_NODES: EventName[Mapping[str, tuple[str, ...]]] = EventName("kernel_nodes")
#: The command that compiles a C++ file; the payload is the file's text.
CPP_COMMAND: EventName[str] = EventName("links_command")
#: Inductor's names of two cache events. tclab adds these events where Inductor's cache is off.
INDUCTOR_MISS = "fx_graph_cache_miss"
INDUCTOR_BYPASS = "fx_graph_cache_bypass"
#: The triton.Config with which a kernel was launched; the payload is the kernel's source.
LAUNCHED: EventName[Any] = EventName("launched")
GRAPH: EventName[GraphNote] = EventName("links_graph")
LOOP_BODIES: EventName[LoopBodiesNote] = EventName("links_ir")
KERNEL: EventName[KernelNote] = EventName("links_kernel")
FUSION_QUERY: EventName[FusionQueryNote] = EventName("links_asked")
FUSED: EventName[FusedNote] = EventName("links_fused")
#: A compiled graph ran with inputs of these shapes; the payload tells apart the graphs of one
#: compile.
RUN: EventName[tuple[tuple[int, ...], ...]] = EventName("graph_run")
#: A call of the function, including its backward, ended.
CALLED = "call_ended"
#: The shortened file names in PyTorch's guards → the full names.
FILES: EventName[Mapping[str, str]] = EventName("file_names")
#: PyTorch's settings for float32 at the end of the capture: ``matmul`` or ``conv`` → ``tf32``.
PRECISIONS: EventName[Mapping[str, str]] = EventName("float32_precisions")
#: The values of checkpointed regions that a backward graph holds.
CHECKPOINTS: EventName[Checkpoints] = EventName("checkpoints")
CUT: EventName[CutNote] = EventName("links_cut")
STEP: EventName[StepNote] = EventName("step")
