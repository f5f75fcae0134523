"""Listen to PyTorch's trace and logs during a compile, and collect them in a `Trace`."""

from __future__ import annotations

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
from tclab.capturing.trace import names, records
from tclab.capturing.trace.events import Trace


@contextmanager
def listen() -> Iterator[Trace]:
    """Yield a Trace that collects events during the block, and restore the loggers afterwards."""
    trace = Trace()

    def add_bytecode(code: CodeType, new: CodeType) -> None:
        trace.add(names.BYTECODE, (code, new), "", compiler.current_compile_ids())

    with ExitStack() as stack:
        stack.enter_context(_enabling_logging())
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
        trace.add(
            names.FILES, compiler.files_by_short_name(_compiled_files(trace)), "", (None, None)
        )


def _compiled_files(trace: Trace) -> set[str]:
    """Return the files of all frames that were compiled."""
    return {
        frame["filename"] for event in trace.select(names.START) for frame in event.data["stack"]
    }


def _float32_precisions() -> dict[str, str]:
    """Return the formats in which a GPU may compute products of float32 tensors."""
    return {
        "matmul": torch.backends.cuda.matmul.fp32_precision,
        "conv": torch.backends.cudnn.conv.fp32_precision,
    }


@contextmanager
def _enabling_logging() -> Iterator[None]:
    """Undo `logging.disable` during the block, since PyTorch writes its trace through `logging`."""
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
        payload = getattr(record, "payload", None) or ""
        name = records.add_record(self.trace, meta, payload, compiler.interned_files)
        ids = meta.get("frame_id"), meta.get("frame_compile_id")
        if name == "inductor_provenance_tracking_kernel_stack_traces":
            self.trace.add(names.KERNEL_NODES, compiler.kernel_nodes(), "", ids)


class _LogHandler(logging.Handler):
    """Turns each record of a log artifact into an event with the artifact's name."""

    def __init__(self, trace: Trace, name: str) -> None:
        super().__init__(logging.DEBUG)
        self.trace, self.artifact = trace, name

    def emit(self, record: logging.LogRecord) -> None:
        self.trace.add(self.artifact, None, record.getMessage(), compiler.current_compile_ids())
