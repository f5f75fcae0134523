"""Change what the reader's own calls of torch.compile do while a remedy is tried."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

from tclab.explain import subject
from tclab.explain.trials.remedy import Remedy


@contextmanager
def patched_compile(remedy: Remedy) -> Iterator[Callable[[], None]]:
    """Make the reader's own calls of torch.compile use the remedy's backend, or do nothing, during
    the block. Yield a function that ends this change earlier.
    """
    import torch

    with ExitStack() as stack:
        if remedy.whole:
            stack.enter_context(mock.patch.object(torch, "compile", _skip_compile))
        elif not remedy.compiled:
            stack.enter_context(mock.patch.object(torch, "compile", _skip_compile))
            stack.enter_context(torch.compiler.set_stance("force_eager"))
        elif remedy.in_place:
            own = functools.partial(_compiled_in_place, torch.compile, remedy)
            functools.update_wrapper(own, torch.compile)  # mark `own` as a compile, too
            stack.enter_context(mock.patch.object(torch, "compile", own))
        elif remedy.backend != "inductor":
            own = functools.partial(_compile_with_remedy, torch.compile, remedy)
            functools.update_wrapper(own, torch.compile)  # mark `own` as a compile, too
            stack.enter_context(mock.patch.object(torch, "compile", own))
        yield stack.close


def _skip_compile(model: Any = None, **_: object) -> Any:
    return model if model is not None else lambda function: function


def _compile_with_remedy(
    compile_: Callable[..., Any], remedy: Remedy, model: Any = None, **how: Any
) -> Any:
    kept = {k: v for k, v in how.items() if k not in ("mode", "options")}
    changed = {"backend": remedy.backend, **remedy.options, **remedy.own}
    return compile_(model, **{**kept, **changed})


def _compiled_in_place(
    compile_: Callable[..., Any], remedy: Remedy, model: Any = None, **how: Any
) -> Any:
    import torch

    if not subject.is_module(model):
        return _compile_with_remedy(compile_, remedy, model, **how)
    with mock.patch.object(torch, "compile", compile_):  # Module.compile calls torch.compile, too
        if remedy.in_place == "forward":
            model.forward = _compile_with_remedy(compile_, remedy, model.forward, **how)
        else:
            model.compile(backend=remedy.backend)
    return model
