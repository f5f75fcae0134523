"""Which configuration each Triton kernel was launched with, on a GPU that is here.

Inductor times a kernel's configurations at its first call and keeps the quickest. What was kept
joins the Trace as an event ``launched``: the kernel's source, and the configuration.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import torch

from tclab.stages._private import Private, gone

if TYPE_CHECKING:
    from tclab.stages.trace import Trace

#: Only looked at where there is a GPU: importing the module takes Triton.
NAMES = (
    Private(
        "torch._inductor.runtime.triton_heuristics", "CachingAutotuner.run", "kernels' launches"
    ),
)


def check() -> list[str]:
    """What of PyTorch is not as this module knows it; empty if all is well, or without a GPU."""
    return gone(NAMES) if torch.cuda.is_available() else []


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
