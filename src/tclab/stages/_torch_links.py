"""Note where everything comes from while it is made: each private seam, with its versions.

A graph that PyTorch prints into the structured trace is noted with its nodes, and each node is
marked, so that the node of a later graph that was copied or traced from it can name it. When
Inductor lowers a node, the loop body it makes is marked with that node, then each node of the
body, and at last each line that is written while a node of the body is turned into code. What
was noted joins the Trace as events called ``links_…``. No code that is generated changes.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any
from unittest import mock

from torch import fx

from tclab.stages import _link_graphs, _link_kernels
from tclab.stages._link_notes import MARK, Collected

if TYPE_CHECKING:
    from tclab.stages.trace import Trace

_ALL = "2.11 2.13 2.15"
#: (module, attribute path, versions it was seen in, what it is used for)
NAMES = (
    ("torch.fx", "GraphModule.print_readable", _ALL, "the graph behind a printed text"),
    ("torch.fx", "Node.replace_all_uses_with", _ALL, "replaced nodes"),
    ("torch.fx.proxy", "_COPY_META_FIELDS", _ALL, "marks go through tracing"),
    ("torch._dynamo.output_graph", "SubgraphTracer.create_node", _ALL, "the instruction of a node"),
    ("torch._inductor.ir", "IRNode.__post_init__", _ALL, "whose loop body it is"),
    ("torch._inductor.ir", "Loops", _ALL, "whose loop body it is"),
    ("torch._inductor.loop_body", "LightTracer", _ALL, "nodes of a loop body"),
    ("torch._inductor.loop_body", "InterpreterShim", _ALL, "which node is being written"),
    ("torch._inductor.utils", "IndentedBuffer.writeline", _ALL, "lines of a kernel"),
    ("torch._inductor.codegen.common", "CSE.generate", _ALL, "values that are used again"),
    ("torch._inductor.codegen.triton", "TritonScheduling.define_kernel", _ALL, "kernel names"),
    ("torch._inductor.codegen.cpp", "CppScheduling.define_kernel", _ALL, "kernel names"),
    ("torch._inductor.dependencies", "ReadWrites.reads_and_writes", _ALL, "shared buffers"),
    (
        "torch._inductor.scheduler",
        "BaseSchedulerNode.get_read_write_buffers_sizes_impl",
        _ALL,
        "bytes a kernel moves",
    ),
    ("torch._inductor.debug", "log_ir_post_fusion", _ALL, "the IR behind the log"),
    ("torch._inductor.pattern_matcher", "LoweringPatternEntry.apply", _ALL, "replaced nodes"),
    ("torch._inductor.pattern_matcher", "GraphPatternEntry.apply", _ALL, "replaced nodes"),
    ("torch._inductor.pattern_matcher", "ReplacementPatternEntry.apply", _ALL, "replaced nodes"),
)


def check() -> list[str]:
    """What of PyTorch is not as this module knows it; empty if all is well."""
    return [
        f"{module}.{name} is gone (used for: {use}; seen in torch {seen})"
        for module, name, seen, use in NAMES
        if not _exists(module, name)
    ]


def _exists(module: str, name: str) -> bool:
    try:
        value: Any = importlib.import_module(module)
        for part in name.split("."):
            value = getattr(value, part)
    except (ImportError, AttributeError):
        return False
    return True


_active: list[Collected] = []


@contextmanager
def recording(trace: Trace) -> Iterator[None]:
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
    notes = Collected([trace])
    with ExitStack() as stack:
        for owner, name, own in _patches(notes):
            stack.enter_context(mock.patch.object(owner, name, own))
        stack.enter_context(_added(fx.proxy._COPY_META_FIELDS, MARK))
        stack.enter_context(_added(_active, notes))
        yield


def _patches(notes: Collected) -> Iterator[tuple[Any, str, Any]]:
    """Owner, name and replacement of each patch."""
    from torch._dynamo import output_graph
    from torch._inductor import debug, ir, loop_body, pattern_matcher, utils
    from torch._inductor.codegen import common, cpp, triton

    seams: tuple[tuple[Any, str, Callable[..., Any]], ...] = (
        (fx.GraphModule, "print_readable", _link_graphs.print_readable),
        (fx.Node, "replace_all_uses_with", _link_graphs.replace_uses),
        (output_graph.SubgraphTracer, "create_node", _link_graphs.dynamo_node),
        *(
            (getattr(pattern_matcher, e), "apply", _link_graphs.replace)
            for e in _link_graphs.ENTRIES
        ),
        (ir.IRNode, "__post_init__", _link_kernels.loops),
        (loop_body.LightTracer, "create_node", _link_kernels.body_node),
        (debug, "log_ir_post_fusion", _link_kernels.log_ir),
        (utils.IndentedBuffer, "writeline", _link_kernels.writeline),
        (common.CSE, "generate", _link_kernels.generate),
        (triton.TritonScheduling, "define_kernel", _link_kernels.define_kernel),
        (cpp.CppScheduling, "define_kernel", _link_kernels.define_kernel),
    )
    for owner, name, make in seams:
        original = getattr(owner, name)
        yield owner, name, wraps(original)(make(original, notes))
    for cls in _link_kernels.stores(ir.Loops):
        for name in ("store_output", "store_reduction"):
            if name in vars(cls):
                yield cls, name, _link_kernels.store_noted(vars(cls)[name])


@contextmanager
def _added(values: list[Any], value: Any) -> Iterator[None]:
    values.append(value)
    try:
        yield
    finally:
        values[:] = [v for v in values if v is not value]
