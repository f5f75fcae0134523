"""Listen to PyTorch's trace and logs during a compile, and collect them in a `Trace`."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import CodeType
from typing import Any

import torch

from tclab.capturing.torch_private import (
    checkpoints,
    compiler,
    cpp_commands,
    graph_runs,
    launches,
    origins,
    partitions,
    vector_isa,
)
from tclab.capturing.trace import names
from tclab.capturing.trace.events import Trace

#: Metadata keys of a structured-trace record that give its context. The one other key is its
#: name.
_CONTEXT_KEYS = {
    *("frame_id", "frame_compile_id", "attempt", "has_payload", "rank", "stack"),
    *("compiled_autograd_id", "subgraph_name"),
}


@contextmanager
def listen() -> Iterator[Trace]:
    """Yield a Trace that collects events during the block, and restore the loggers afterwards."""
    trace = Trace()

    def add_bytecode(code: CodeType, new: CodeType) -> None:
        trace.add(names.BYTECODE, (code, new), "", compiler.current_compile_ids())

    with ExitStack() as stack:
        stack.enter_context(_logging_enabled())
        stack.enter_context(compiler.attach_trace_handler(_StructuredTraceHandler(trace)))
        for name in compiler.LOGS:
            stack.enter_context(compiler.tap_log(name, _LogHandler(trace, name)))
        stack.enter_context(compiler.name_printed_objects())
        stack.enter_context(compiler.hook_bytecode(add_bytecode))
        stack.enter_context(origins.note_origins(trace))
        stack.enter_context(partitions.note_cuts(trace))
        stack.enter_context(checkpoints.note_checkpoints(trace))
        stack.enter_context(launches.note_launches(trace))
        stack.enter_context(graph_runs.note_runs(trace))
        stack.enter_context(cpp_commands.note_commands(trace))
        stack.enter_context(vector_isa.time_isa_trials())
        yield trace
        trace.add(names.PRECISIONS, _float32_precisions(), "", (None, None))


def _float32_precisions() -> dict[str, str]:
    """Return the formats in which a GPU may compute products of float32 tensors."""
    return {
        "matmul": torch.backends.cuda.matmul.fp32_precision,
        "conv": torch.backends.cudnn.conv.fp32_precision,
    }


@contextmanager
def _logging_enabled() -> Iterator[None]:
    """Undo `logging.disable` during the block: PyTorch writes its trace through `logging`."""
    level = logging.root.manager.disable
    logging.disable(logging.NOTSET)
    try:
        yield
    finally:
        logging.disable(level)


class _StructuredTraceHandler(logging.Handler):
    """Turns each record of the structured trace into an event."""

    def __init__(self, trace: Trace) -> None:
        super().__init__(logging.DEBUG)
        self.trace = trace

    def emit(self, record: logging.LogRecord) -> None:
        meta: dict[str, Any] = getattr(record, "metadata", {})
        name = next((key for key in meta if key not in _CONTEXT_KEYS), "")
        data = meta.get(name)
        if name == "artifact":
            name = meta["artifact"]["name"]
        payload = getattr(record, "payload", None) or ""
        if name == names.CHROME:
            data = json.loads(payload)
        ids = meta.get("frame_id"), meta.get("frame_compile_id")
        self.trace.add(name, data, payload, ids, meta.get("attempt", 0))
        if name == "inductor_provenance_tracking_kernel_stack_traces":
            self.trace.add(names.KERNEL_NODES, compiler.kernel_nodes(), "", ids)


class _LogHandler(logging.Handler):
    """Turns each record of a log artifact into an event with the artifact's name."""

    def __init__(self, trace: Trace, name: str) -> None:
        super().__init__(logging.DEBUG)
        self.trace, self.artifact = trace, name

    def emit(self, record: logging.LogRecord) -> None:
        self.trace.add(self.artifact, None, record.getMessage(), compiler.current_compile_ids())
