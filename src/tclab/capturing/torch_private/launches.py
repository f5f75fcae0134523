"""Which configuration each Triton kernel was launched with, on a GPU that is here.

Inductor times a kernel's configurations at its first call and keeps the quickest. What was kept
joins the Trace as an event ``launched``: the kernel's source, and the configuration.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import torch

from tclab.capturing.torch_private.private import Private
from tclab.capturing.trace.events import Trace

#: Only looked at where there is a GPU: importing the module takes Triton.
NAMES = (
    Private(
        "torch._inductor.runtime.triton_heuristics", "CachingAutotuner.run", "kernels' launches"
    ),
)


@contextmanager
def noted(trace: Trace) -> Iterator[None]:
    """Note launches in `trace` for the length of the block. Nothing without a GPU."""
    if not torch.cuda.is_available():
        yield
        return
    from torch._inductor.runtime.triton_heuristics import CachingAutotuner

    noting = _noting(CachingAutotuner.run, trace)
    with mock.patch.object(CachingAutotuner, "run", noting):
        yield


def _noting(original: Any, trace: Trace) -> Any:
    """`original`, and after the first launch of each kernel a note of it."""
    seen: dict[int, Any] = {}  # the kernels themselves: an id alone may come again

    @functools.wraps(original)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(self, *args, **kwargs)
        if id(self) not in seen and self.filename and len(self.launchers) == 1:
            seen[id(self)] = self
            source = Path(self.filename).read_text(encoding="utf-8")
            trace.add("launched", self.launchers[0].config, source, (None, None))
        return result

    return run
