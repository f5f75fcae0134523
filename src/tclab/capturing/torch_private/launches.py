"""Which configuration each Triton kernel was launched with, on a GPU that is here.

Inductor times a kernel's configurations at its first call and keeps the quickest. What was kept
joins the Trace as an event ``launched``: the kernel's source, and the configuration.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar
from unittest import mock

import torch

from tclab.capturing.torch_private.private import Private
from tclab.capturing.trace import names
from tclab.capturing.trace.events import Trace

T = TypeVar("T")

#: Only looked at where there is a GPU: importing the module takes Triton.
NAMES = (
    Private(
        "torch._inductor.runtime.triton_heuristics", "CachingAutotuner.run", "kernels' launches"
    ),
)


@contextmanager
def noting(trace: Trace) -> Iterator[None]:
    """Note launches in `trace` for the length of the block. Nothing without a GPU."""
    if not torch.cuda.is_available():
        yield
        return
    from torch._inductor.runtime.triton_heuristics import CachingAutotuner

    with mock.patch.object(CachingAutotuner, "run", _noted(CachingAutotuner.run, trace)):
        yield


def _noted(original: Callable[..., T], trace: Trace) -> Callable[..., T]:
    """`original`, and after the first launch of each kernel a note of it."""
    seen: dict[int, object] = {}  # the kernels themselves: an id alone may come again

    @functools.wraps(original)
    def run(self: Any, *args: object, **kwargs: object) -> T:
        result = original(self, *args, **kwargs)
        if id(self) not in seen and self.filename and len(self.launchers) == 1:
            seen[id(self)] = self
            source = Path(self.filename).read_text(encoding="utf-8")
            trace.add(names.LAUNCHED, self.launchers[0].config, source, (None, None))
        return result

    return run
