"""Compile the checkpointed modules one by one, in place of the whole model."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from tclab.explain import subject


@contextmanager
def record_checkpoints() -> Iterator[list[Any]]:
    """Yield a list of the functions and modules that code imported during the block passes to
    torch.utils.checkpoint.
    """
    import torch.utils.checkpoint as module

    checkpoint, given = module.checkpoint, list[Any]()

    @functools.wraps(checkpoint)
    def record(function: Any, *args: Any, **kwargs: Any) -> Any:
        given.append(function)
        return checkpoint(function, *args, **kwargs)

    with mock.patch.object(module, "checkpoint", record):
        yield given


def compile_each(checkpointed: Iterable[Any]) -> None:
    """Compile the `forward` of each module that is checkpointed. Module.compile is not used,
    because it compiles nothing of a module whose forward is PyTorch's own.
    """
    import torch

    modules = {id(module): module for each in checkpointed if (module := _find_module(each))}
    for module in modules.values():
        module.forward = torch.compile(module.forward)


def _find_module(function: Any) -> Any:
    """Return the module if `function` is a module or a method of one; else None."""
    while isinstance(function, functools.partial):
        function = function.func
    owner = getattr(function, "__self__", function)
    return owner if subject.is_module(owner) else None
