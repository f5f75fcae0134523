"""Find the switches that keep torch.compile from compiling: variables, settings and stances."""

from __future__ import annotations

import os
from typing import Any

from tclab.capturing.torch_private.private import Private
from tclab.capturing.trace import names
from tclab.capturing.trace.events import Trace
from tclab.errors import NothingCompiled

NAMES = (
    Private("torch._dynamo.config", "disable", "whether Dynamo is switched off"),
    Private("torch._dynamo.eval_frame", "_stance", "what set_stance asked for"),
    Private("torch._dynamo.eval_frame", "OptimizedModule", "a module that Dynamo wrapped"),
    Private("torch._dynamo.eval_frame", "DisableContext", "what torch.compiler.disable applies"),
    Private("torch.utils._python_dispatch", "_get_current_dispatch_mode", "a mode around the call"),
)
#: torch.compile reads one of these variables, the import of Dynamo the other.
_VARIABLES = ("TORCHDYNAMO_DISABLE", "TORCH_COMPILE_DISABLE")


def require_compiled(trace: Trace) -> None:
    """Raise NothingCompiled if a switch kept these calls from being compiled, or sent them to
    another backend.
    """
    if backend := _current_stance().backend:
        cause = f"torch.compiler.set_stance(force_backend={backend!r}) replaces the backend"
        raise NothingCompiled("torch.compile", cause, "take it out")
    if trace.select(names.METRICS):
        return
    if variable := next((v for v in _VARIABLES if os.environ.get(v) == "1"), ""):
        cause = f"{variable}=1 switches compiling off"
        raise NothingCompiled("torch.compile", cause, f"unset {variable}")
    if setting := _find_setting():
        raise NothingCompiled("torch.compile", f"{setting} switches compiling off", "take it out")


def is_disabled(fn: object) -> bool:
    """Return whether torch.compiler.disable was applied to this callable."""
    from torch._dynamo.eval_frame import DisableContext, OptimizedModule

    if isinstance(fn, OptimizedModule):
        return isinstance(fn.dynamo_ctx, DisableContext)
    return bool(getattr(fn, "_torchdynamo_disable", False))


def _find_setting() -> str:
    """Return the line that switches compiling off, as a user writes it; '' if there is none."""
    import torch
    from torch._dynamo import config
    from torch.utils._python_dispatch import _get_current_dispatch_mode

    if config.disable:
        return "torch._dynamo.config.disable = True"
    # some test suites replace torch.compile to save time
    if getattr(torch.compile, "__module__", "") != "torch":
        return "torch.compile = …, a function of another module,"
    if mode := _get_current_dispatch_mode():  # Dynamo compiles nothing below such a mode
        return f"{type(mode).__name__}, a dispatch mode around the call,"
    stance = _current_stance().stance
    return "" if stance == "default" else f'torch.compiler.set_stance("{stance}")'


def _current_stance() -> Any:
    """Return the stance set by torch.compiler.set_stance; each call replaces the object."""
    from torch._dynamo import eval_frame

    return eval_frame._stance
