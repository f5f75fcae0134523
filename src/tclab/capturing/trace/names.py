"""The events whose data is read: their names, and what the data of each holds.

Those of PyTorch are records of its structured trace, in the words of torch/_dynamo/utils.py
(compilation_metrics, chromium_event), torch/_dynamo/convert_frame.py (dynamo_start) and
torch/fx/experimental/symbolic_shapes.py (create_symbol). The others are noted by tclab.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import CodeType
from typing import Any, TypedDict

from tclab.capturing.trace.events import EventName
from tclab.capturing.trace.notes import (
    AskedNote,
    BodyNote,
    CutNote,
    FusedNote,
    GraphNote,
    KernelNote,
    StepNote,
)


class _Place(TypedDict):
    name: str  # of the function
    filename: int  # interned: torch_private.compiler.file_of
    line: int


class TracedFrame(_Place, total=False):
    """A frame of a traced stack."""

    loc: str  # the line's code


class Start(TypedDict):
    """The stack above and with the frame that is to be compiled."""

    stack: list[TracedFrame]


class Metrics(TypedDict, total=False):
    """How a compile ended. All are None where it went well."""

    fail_type: str | None
    fail_reason: str | None
    cudagraph_skip_reason: str | None


class ChromeEvent(TypedDict, total=False):
    """A phase that begins or ends, as Chrome's trace viewer reads it; `ts` in microseconds."""

    name: str
    ph: str  # B begins, E ends
    ts: float
    pid: int
    tid: int


class _Created(TypedDict):
    symbol: str
    val: str  # the size it was made for
    source: str


class CreatedSymbol(_Created, total=False):
    """A symbol for a size; `vr` is the range it may have."""

    vr: str
    user_stack: list[TracedFrame]


START: EventName[Start] = EventName("dynamo_start")
METRICS: EventName[Metrics] = EventName("compilation_metrics")
CHROME: EventName[ChromeEvent] = EventName("chromium_event")
VECTOR_ISA = "VecISA.check_build"  # of a CHROME event that tclab adds
CREATED_SYMBOL: EventName[CreatedSymbol] = EventName("create_symbol")

#: The original code and the rewritten one.
BYTECODE: EventName[tuple[CodeType, CodeType]] = EventName("bytecode")
#: ``kernel:handle`` → the post-grad nodes it computes.
KERNEL_NODES: EventName[Mapping[str, tuple[str, ...]]] = EventName("kernel_nodes")
#: The command that compiles a C++ file; the payload is the file's text.
CPP_COMMAND: EventName[str] = EventName("links_command")
#: The configuration, a triton.Config, that a kernel was launched with; the payload is its source.
LAUNCHED: EventName[Any] = EventName("launched")
GRAPH: EventName[GraphNote] = EventName("links_graph")
BODY: EventName[BodyNote] = EventName("links_ir")
KERNEL: EventName[KernelNote] = EventName("links_kernel")
ASKED: EventName[AskedNote] = EventName("links_asked")
FUSED: EventName[FusedNote] = EventName("links_fused")
CUT: EventName[CutNote] = EventName("links_cut")
STEP: EventName[StepNote] = EventName("step")
