"""Modules that are checkpointed, compiled one by one in place of the whole."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from tclab.explain import subject
from tclab.explain.trials.remedy import Remedy
from tclab.explain.trials.runner import TrialRunner
from tclab.findings.kernels import COMPILE_BLOCKS
from tclab.model import Checkpoints


def find_fix(held: Checkpoints, runner: TrialRunner) -> str:
    """Return how a backward holds fewer checkpointed regions; '' if what was tried does not help.
    `held` is what it holds now.
    """
    result = runner.run(Remedy(COMPILE_BLOCKS, backend="inductor", blocks=True))
    if result is None:
        return f"{COMPILE_BLOCKS} (Not tried.)"
    if result.error or not (frames := sum(result.compiles.values())) or result.held >= held.held:
        return ""
    verb = "frame is" if frames == 1 else "frames are"
    most = "one region" if result.held < 2 else f"{result.held} regions"
    return f"{COMPILE_BLOCKS} Tried: {frames} {verb} compiled, no backward holds more than {most}."


@contextmanager
def record_checkpoints() -> Iterator[list[Any]]:
    """Yield the list of what torch.utils.checkpoint is given during the block, by code that is
    imported in it.
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
    """Compile each module among these by its forward; Module.compile compiles nothing of those
    whose forward is PyTorch's own.
    """
    import torch

    modules = {id(module): module for each in checkpointed if (module := _module_of(each))}
    for module in modules.values():
        module.forward = torch.compile(module.forward)


def _module_of(function: Any) -> Any:
    """Return the module that is called: itself, or by a method of it; None for other functions."""
    while isinstance(function, functools.partial):
        function = function.func
    owner = getattr(function, "__self__", function)
    return owner if subject.is_module(owner) else None
