"""Note where everything comes from while it is made: each private seam, with its versions.

A graph that PyTorch prints into the structured trace is noted with its nodes, and each node is
marked, so that the node of a later graph that was copied or traced from it can name it. When
Inductor lowers a node, the loop body it makes is marked with that node, then each node of the
body, and at last each line that is written while a node of the body is turned into code. What
was noted joins the Trace as events called ``links_…``. No code that is generated changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Any, TypeVar
from unittest import mock

from torch import fx

from tclab.capturing.torch_private import (
    compiler,
    origins_fusion,
    origins_graphs,
    origins_kernels,
)
from tclab.capturing.torch_private.private import Private
from tclab.capturing.trace.events import Trace
from tclab.capturing.trace.notes import MARK, Collected

NAMES = (
    Private("torch.fx", "GraphModule.print_readable", "the graph behind a printed text"),
    Private("torch.fx", "Node.replace_all_uses_with", "replaced nodes"),
    Private("torch.fx.proxy", "_COPY_META_FIELDS", "marks go through tracing"),
    Private(
        "torch._dynamo.output_graph", "SubgraphTracer.create_node", "the instruction of a node"
    ),
    Private("torch._inductor.ir", "IRNode.__post_init__", "whose loop body it is"),
    Private("torch._inductor.ir", "Loops", "whose loop body it is"),
    Private("torch._inductor.loop_body", "LightTracer", "nodes of a loop body"),
    Private("torch._inductor.loop_body", "InterpreterShim", "which node is being written"),
    Private("torch._inductor.utils", "IndentedBuffer.writeline", "lines of a kernel"),
    Private("torch._inductor.codegen.common", "CSE.generate", "values that are used again"),
    Private("torch._inductor.codegen.common", "CSEVariable", "values that have a name already"),
    Private("torch._inductor.virtualized", "V.interpreter", "which node is being written"),
    Private("torch._inductor.virtualized", "V.kernel", "which kernel is being written"),
    Private("torch._inductor.virtualized", "V.graph", "which graph is being lowered"),
    Private("torch._inductor.graph", "GraphLowering.try_get_buffer", "whose value is loaded"),
    Private("torch._inductor.codegen.triton", "TritonScheduling.define_kernel", "kernel names"),
    Private("torch._inductor.codegen.cpp", "CppScheduling.define_kernel", "kernel names"),
    Private("torch._inductor.dependencies", "ReadWrites.reads_and_writes", "shared buffers"),
    Private(
        "torch._inductor.scheduler",
        "BaseSchedulerNode.get_read_write_buffers_sizes_impl",
        "bytes a kernel moves",
    ),
    Private("torch._inductor.debug", "log_ir_post_fusion", "the IR behind the log"),
    Private("torch._inductor.scheduler", "Scheduler.can_fuse", "which pairs are considered"),
    Private("torch._inductor.scheduler", "Scheduler.fuse_two_nodes", "which pairs are fused"),
    Private("torch._inductor.scheduler", "Scheduler.dep_size_hint", "bytes that a pair shares"),
    Private("torch._inductor.codegen.cpp", "CppScheduling.can_fuse_vertical", "who declined"),
    Private("torch._inductor.codegen.cpp", "CppScheduling.can_fuse_horizontal", "who declined"),
    Private("torch._inductor.pattern_matcher", "LoweringPatternEntry.apply", "replaced nodes"),
    Private("torch._inductor.pattern_matcher", "GraphPatternEntry.apply", "replaced nodes"),
    Private("torch._inductor.pattern_matcher", "ReplacementPatternEntry.apply", "replaced nodes"),
)


Function = Callable[..., Any]
#: Makes of a function one that does the same and notes what it did.
Noted = Callable[[Function, Collected], Function]
T = TypeVar("T")

_active: list[Collected] = []


@contextmanager
def noting(trace: Trace) -> Iterator[None]:
    """Note origins in `trace` for the length of the block; every patch is undone, also after an
    error. Captures within captures share the patches: what is made is marked once.
    """
    if _active:
        _active[0].traces.append(trace)
        try:
            yield
        finally:
            _active[0].traces[:] = [t for t in _active[0].traces if t is not trace]
        return
    notes = Collected([trace], compiler.compile_id)
    with ExitStack() as stack:
        for owner, name, own in _patches(notes):
            stack.enter_context(mock.patch.object(owner, name, own))
        stack.enter_context(_added(fx.proxy._COPY_META_FIELDS, MARK))
        stack.enter_context(_added(_active, notes))
        yield


def _patches(notes: Collected) -> Iterator[tuple[object, str, Function]]:
    """Owner, name and replacement of each patch."""
    from torch._dynamo import output_graph
    from torch._inductor import debug, ir, loop_body, pattern_matcher, scheduler, utils
    from torch._inductor.codegen import common, cpp, triton

    seams: tuple[tuple[object, str, Noted], ...] = (
        (fx.GraphModule, "print_readable", origins_graphs.print_readable),
        (fx.Node, "replace_all_uses_with", origins_graphs.replace_uses),
        (output_graph.SubgraphTracer, "create_node", origins_graphs.dynamo_node),
        *(
            (getattr(pattern_matcher, e), "apply", origins_graphs.replace)
            for e in origins_graphs.ENTRIES
        ),
        (ir.IRNode, "__post_init__", origins_kernels.loops),
        (loop_body.LightTracer, "create_node", origins_kernels.body_node),
        (debug, "log_ir_post_fusion", origins_kernels.log_ir),
        (scheduler.Scheduler, "can_fuse", origins_fusion.can_fuse),
        (scheduler.Scheduler, "fuse_two_nodes", origins_fusion.fuse_two_nodes),
        (cpp.CppScheduling, "can_fuse_vertical", origins_fusion.declines),
        (cpp.CppScheduling, "can_fuse_horizontal", origins_fusion.declines),
        (utils.IndentedBuffer, "writeline", origins_kernels.writeline),
        (common.CSE, "generate", origins_kernels.generate),
        (triton.TritonScheduling, "define_kernel", origins_kernels.define_kernel),
        (cpp.CppScheduling, "define_kernel", origins_kernels.define_kernel),
    )
    for owner, name, make in seams:
        original = getattr(owner, name)
        yield owner, name, wraps(original)(make(original, notes))
    for cls in origins_kernels.stores(ir.Loops):
        for name in ("store_output", "store_reduction"):
            if name in vars(cls):
                yield cls, name, origins_kernels.store_noted(vars(cls)[name])


@contextmanager
def _added(values: list[T], value: T) -> Iterator[None]:
    values.append(value)
    try:
        yield
    finally:
        values[:] = [v for v in values if v is not value]
