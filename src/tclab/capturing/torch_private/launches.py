"""Note the configuration with which each Triton kernel is launched on this machine's GPU.

Inductor times a kernel's configurations at its first call and keeps the fastest. An event
``launched`` in the Trace holds that configuration and the kernel's source.
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

#: Checked only on a machine with a GPU: importing the module needs Triton.
NAMES = (
    Private(
        "torch._inductor.runtime.triton_heuristics", "CachingAutotuner.run", "kernels' launches"
    ),
)


@contextmanager
def note_launches(trace: Trace) -> Iterator[None]:
    """Add an event to `trace` for each kernel launched during the block; none without a GPU."""
    if not torch.cuda.is_available():
        yield
        return
    from torch._inductor.runtime.triton_heuristics import CachingAutotuner

    with mock.patch.object(CachingAutotuner, "run", _wrap_run(CachingAutotuner.run, trace)):
        yield


def _wrap_run(original: Callable[..., T], trace: Trace) -> Callable[..., T]:
    """Wrap CachingAutotuner.run: add an event after the first launch of each kernel."""
    seen: dict[int, object] = {}  # id() → autotuner; the reference keeps the id() from being reused

    @functools.wraps(original)
    def run(self: Any, *args: object, **kwargs: object) -> T:
        result = original(self, *args, **kwargs)
        if id(self) not in seen and self.filename and len(self.launchers) == 1:
            seen[id(self)] = self
            source = Path(self.filename).read_text(encoding="utf-8")
            trace.add(names.LAUNCHED, self.launchers[0].config, source, (None, None))
        return result

    return run
