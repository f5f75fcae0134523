"""Note each instruction that Dynamo traces, with the source line and the nodes of the graph so
far.
"""

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
def note_steps(trace: Trace) -> Iterator[None]:
    """Add an event to `trace` for each instruction that Dynamo traces during the block."""
    from torch._dynamo.symbolic_convert import trace_bytecode_log as log

    handler = _StepHandler(trace)
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


class _StepHandler(logging.Handler):
    """Adds an event to the trace for each record of Dynamo's instruction log."""

    def __init__(self, trace: Trace) -> None:
        super().__init__(logging.DEBUG)
        self.trace = trace

    def emit(self, record: logging.LogRecord) -> None:
        from torch._dynamo.symbolic_convert import InstructionTranslator

        translator = InstructionTranslator.current_tx()
        nodes = tuple(node.name for node in translator.output.graph.nodes)
        code = translator.f_code
        location = (code.co_filename, translator.lineno, code.co_name)
        note = StepNote(record.getMessage(), *location, nodes)
        self.trace.add(names.STEP, note, "", compiler.current_compile_ids())
