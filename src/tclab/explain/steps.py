"""What goes on while a function is explained, told as it begins."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

#: Called with what begins now, in a few words.
OnStep = Callable[[str], None]

#: Parts of a compile, as PyTorch names them in its structured trace, that take long enough to say.
_PHASES = {
    "dynamo": "Dynamo",
    "backend_compile": "AOTAutograd",
    "inductor_compile": "Inductor",
    "async_compile.wait": "the kernels",
    "async_compile.precompile": "the kernels",
    "compile_file": "the C++ compiler",
    "entire_backward_compile": "the backward",
}


def silent(step: str) -> None:
    """Tell nobody."""


@contextmanager
def told(on_step: OnStep, title: str) -> Iterator[None]:
    """Within the block, `on_step` hears which part of which compile begins."""
    from tclab.capturing.torch_private import compiler

    on_step(f"compiling {title}")
    with compiler.trace_handler(_Heard(on_step, title)):
        yield


class _Heard(logging.Handler):
    """Tells of phases from the records of the structured trace."""

    def __init__(self, on_step: OnStep, title: str) -> None:
        super().__init__(logging.DEBUG)
        self.on_step, self.title, self.compiles = on_step, title, 0

    def emit(self, record: logging.LogRecord) -> None:
        meta: dict[str, Any] = getattr(record, "metadata", {})
        if "chromium_event" not in meta:
            return
        event = json.loads(getattr(record, "payload", None) or "{}")
        phase = _PHASES.get(event.get("name", ""))
        if event.get("ph") == "B" and phase:
            self.compiles += event["name"] == "dynamo"
            which = f", compile {self.compiles}" if self.compiles > 1 else ""
            self.on_step(f"compiling {self.title}{which}: {phase}")
