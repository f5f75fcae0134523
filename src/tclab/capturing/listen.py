"""Listen to everything PyTorch says of a compile, and collect it in a `Trace`."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import CodeType
from typing import Any

from tclab.capturing.torch_private import (
    compiler,
    cpp_commands,
    launches,
    origins,
    partitions,
    vector_isa,
)
from tclab.capturing.trace import names
from tclab.capturing.trace.events import Trace

#: What a record of the structured trace says of its place, beside what it is about.
_CONTEXT = {
    *("frame_id", "frame_compile_id", "attempt", "has_payload", "rank", "stack"),
    *("compiled_autograd_id", "subgraph_name"),
}


@contextmanager
def listen() -> Iterator[Trace]:
    """Collect a Trace for the length of the block; loggers are put back whatever happens."""
    trace = Trace()

    def bytecode(code: CodeType, new: CodeType) -> None:
        trace.add(names.BYTECODE, (code, new), "", compiler.compile_id())

    with ExitStack() as stack:
        stack.enter_context(compiler.trace_handler(_Structured(trace)))
        for name in compiler.LOGS:
            stack.enter_context(compiler.log_tap(name, _Log(trace, name)))
        stack.enter_context(compiler.bytecode_hook(bytecode))
        stack.enter_context(origins.noting(trace))
        stack.enter_context(partitions.noting(trace))
        stack.enter_context(launches.noting(trace))
        stack.enter_context(cpp_commands.noting(trace))
        stack.enter_context(vector_isa.timed())
        yield trace


class _Structured(logging.Handler):
    """Turns records of the structured trace into events."""

    def __init__(self, trace: Trace) -> None:
        super().__init__(logging.DEBUG)
        self.trace = trace

    def emit(self, record: logging.LogRecord) -> None:
        meta: dict[str, Any] = getattr(record, "metadata", {})
        name = next((key for key in meta if key not in _CONTEXT), "")
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


class _Log(logging.Handler):
    """Turns lines of one log artifact into events of its name."""

    def __init__(self, trace: Trace, name: str) -> None:
        super().__init__(logging.DEBUG)
        self.trace, self.artifact = trace, name

    def emit(self, record: logging.LogRecord) -> None:
        self.trace.add(self.artifact, None, record.getMessage(), compiler.compile_id())
