"""Note each run of a graph that Inductor compiled for this machine."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import torch

from tclab.capturing.torch_private import compiler
from tclab.capturing.torch_private.private import Private
from tclab.capturing.trace import names
from tclab.capturing.trace.events import Trace

NAMES = (
    Private("torch._inductor.output_code", "CompiledFxGraph.__init__", "the compile of a graph"),
    Private("torch._inductor.output_code", "CompiledFxGraph.__call__", "the runs of a graph"),
)
_IDS = "tclab_compile_ids"


@contextmanager
def note_runs(trace: Trace) -> Iterator[None]:
    """Add an event to `trace` for each run of a compiled graph during the block. The event's
    payload tells apart the graphs of one compile, and its data are the sizes of the inputs.
    """
    from torch._inductor.output_code import CompiledFxGraph

    init, call = CompiledFxGraph.__init__, CompiledFxGraph.__call__

    @functools.wraps(init)
    def noting_init(self: Any, *args: object, **kwargs: object) -> None:
        init(self, *args, **kwargs)
        setattr(self, _IDS, compiler.current_compile_ids())

    with (
        mock.patch.object(CompiledFxGraph, "__init__", noting_init),
        mock.patch.object(CompiledFxGraph, "__call__", _wrap_call(call, trace)),
    ):
        yield


def list_sizes(inputs: Iterable[object]) -> tuple[tuple[int, ...], ...]:
    """Return the shapes of the tensors among a graph's inputs."""
    return tuple(tuple(each.shape) for each in inputs if isinstance(each, torch.Tensor))


def _wrap_call(original: Callable[..., Any], trace: Trace) -> Callable[..., Any]:
    @functools.wraps(original)
    def call(self: Any, inputs: Any) -> Any:
        ids = getattr(self, _IDS, (None, None))
        trace.add(names.RUN, list_sizes(inputs), str(id(self)), ids)
        return original(self, inputs)

    return call
