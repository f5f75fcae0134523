"""Note the origin of each FX node, loop body and kernel line while PyTorch makes it.

When PyTorch prints a graph into the structured trace, we note its nodes and mark each of them. A
node of a later graph that is copied or traced from a marked node keeps the mark. When Inductor
lowers a node, the loop body gets the node's marks. Each node of the body gets them from the body,
and each line that Inductor writes for such a node gets them from that node. The notes join the
Trace as events called ``links_…``. The generated code does not change.
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
from tclab.capturing.trace.notes import MARK, Collector

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
#: A function that wraps a function of PyTorch. The wrapper does the same, and adds notes to the
#: Collector.
MakeWrapper = Callable[[Function, Collector], Function]
T = TypeVar("T")

_active_collectors: list[Collector] = []


@contextmanager
def note_origins(trace: Trace) -> Iterator[None]:
    """Add notes on origins to `trace` during the block. Every patch is undone, also after an
    error. Nested captures share the patches, so that each node is marked once.
    """
    if _active_collectors:
        _active_collectors[0].traces.append(trace)
        try:
            yield
        finally:
            _active_collectors[0].traces[:] = [
                t for t in _active_collectors[0].traces if t is not trace
            ]
        return
    notes = Collector([trace], compiler.current_compile_ids)
    with ExitStack() as stack:
        for owner, name, replacement in _list_patches(notes):
            stack.enter_context(mock.patch.object(owner, name, replacement))
        stack.enter_context(_append_for_block(fx.proxy._COPY_META_FIELDS, MARK))
        stack.enter_context(_append_for_block(_active_collectors, notes))
        yield


def _list_patches(notes: Collector) -> Iterator[tuple[object, str, Function]]:
    """Yield the owner, the attribute's name and the replacement for each patch."""
    from torch._dynamo import output_graph
    from torch._inductor import debug, ir, loop_body, pattern_matcher, scheduler, utils
    from torch._inductor.codegen import common, cpp, triton

    seams: tuple[tuple[object, str, MakeWrapper], ...] = (
        (fx.GraphModule, "print_readable", origins_graphs.wrap_print_readable),
        (fx.Node, "replace_all_uses_with", origins_graphs.wrap_replace_all_uses),
        (output_graph.SubgraphTracer, "create_node", origins_graphs.wrap_create_node),
        *(
            (getattr(pattern_matcher, e), "apply", origins_graphs.wrap_pattern_apply)
            for e in origins_graphs.PATTERN_ENTRIES
        ),
        (ir.IRNode, "__post_init__", origins_kernels.wrap_post_init),
        (loop_body.LightTracer, "create_node", origins_kernels.wrap_create_body_node),
        (debug, "log_ir_post_fusion", origins_kernels.wrap_log_ir),
        (scheduler.Scheduler, "can_fuse", origins_fusion.wrap_can_fuse),
        (scheduler.Scheduler, "fuse_two_nodes", origins_fusion.wrap_fuse_two_nodes),
        (cpp.CppScheduling, "can_fuse_vertical", origins_fusion.wrap_backend_can_fuse),
        (cpp.CppScheduling, "can_fuse_horizontal", origins_fusion.wrap_backend_can_fuse),
        (utils.IndentedBuffer, "writeline", origins_kernels.wrap_writeline),
        (common.CSE, "generate", origins_kernels.wrap_generate),
        (triton.TritonScheduling, "define_kernel", origins_kernels.wrap_define_kernel),
        (cpp.CppScheduling, "define_kernel", origins_kernels.wrap_define_kernel),
    )
    for owner, name, make in seams:
        original = getattr(owner, name)
        yield owner, name, wraps(original)(make(original, notes))
    for cls in origins_kernels.list_subclasses(ir.Loops):
        for name in ("store_output", "store_reduction"):
            if name in vars(cls):
                yield cls, name, origins_kernels.wrap_store(vars(cls)[name])


@contextmanager
def _append_for_block(values: list[T], value: T) -> Iterator[None]:
    values.append(value)
    try:
        yield
    finally:
        values[:] = [v for v in values if v is not value]
