"""Report each step of an explanation when it begins."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

#: Phases that take long enough to report, by their names in PyTorch's structured trace.
_PHASES = {
    "dynamo": "Dynamo",
    "backend_compile": "AOTAutograd",
    "inductor_compile": "Inductor",
    "async_compile.wait": "the kernels",
    "async_compile.precompile": "the kernels",
    "compile_file": "the C++ compiler",
    "entire_backward_compile": "the backward",
}


@dataclass(frozen=True)
class Step:
    """A step that begins: its description and, for a compile, its number from 1 and its phase."""

    work: str
    compile: int = 1
    phase: str = ""

    def __str__(self) -> str:
        """Describe the step: ``compiling f, compile 2: Inductor``."""
        which = f", compile {self.compile}" if self.compile > 1 else ""
        return f"{self.work}{which}" + (f": {self.phase}" if self.phase else "")


OnStep = Callable[[Step], None]


def silent(step: Step) -> None:
    """Ignore the step."""


@contextmanager
def reporting(on_step: OnStep, title: str) -> Iterator[None]:
    """Call `on_step` when a phase of a compile begins, within the block."""
    from tclab.capturing.torch_private import compiler

    work = f"compiling {title}"
    on_step(Step(work))
    with compiler.attach_trace_handler(_PhaseHandler(on_step, work)):
        yield


class _PhaseHandler(logging.Handler):
    """Reports phases from the records of PyTorch's structured trace."""

    def __init__(self, on_step: OnStep, work: str) -> None:
        super().__init__(logging.DEBUG)
        self.on_step, self.work, self.compiles = on_step, work, 0

    def emit(self, record: logging.LogRecord) -> None:
        meta: dict[str, Any] = getattr(record, "metadata", {})
        if "chromium_event" not in meta:
            return
        event = json.loads(getattr(record, "payload", None) or "{}")
        phase = _PHASES.get(event.get("name", ""))
        if event.get("ph") == "B" and phase:
            self.compiles += event["name"] == "dynamo"
            self.on_step(Step(self.work, self.compiles, phase))
