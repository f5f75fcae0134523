"""Dynamo's log of the instructions it executes, each with its place and the graph by then."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from tclab.capturing.torch_private import compiler
from tclab.capturing.torch_private.private import Private
from tclab.capturing.trace import names
from tclab.capturing.trace.events import Trace
from tclab.capturing.trace.notes import StepNote

NAMES = (
    Private("torch._dynamo.symbolic_convert", "trace_bytecode_log", "instructions"),
    Private("torch._dynamo.symbolic_convert", "InstructionTranslator.current_tx", "their place"),
)


@contextmanager
def noting(trace: Trace) -> Iterator[None]:
    """Note each instruction in `trace` for the length of the block."""
    from torch._dynamo.symbolic_convert import trace_bytecode_log as log

    handler = _Steps(trace)
    level, propagate = log.level, log.propagate
    log.addHandler(handler)
    log.setLevel(logging.DEBUG)
    log.propagate = False
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(level)
        log.propagate = propagate


class _Steps(logging.Handler):
    """Turns the log's lines into events."""

    def __init__(self, trace: Trace) -> None:
        super().__init__(logging.DEBUG)
        self.trace = trace

    def emit(self, record: logging.LogRecord) -> None:
        from torch._dynamo.symbolic_convert import InstructionTranslator

        here = InstructionTranslator.current_tx()
        nodes = tuple(node.name for node in here.output.graph.nodes)
        code = here.f_code
        place = (code.co_filename, here.lineno, code.co_name)
        note = StepNote(record.getMessage(), *place, nodes)
        self.trace.add(names.STEP, note, "", compiler.compile_id())
