"""Operators without a meta kernel: PyTorch runs them on the device to learn what they return."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

from tclab.capturing.target.places import being_traced
from tclab.capturing.target.refusals import loud
from tclab.targets import TargetError


@contextmanager
def refused() -> Iterator[None]:
    """For the length of the block, none is run for a tensor of the target: that would end in a
    graph break that the GPU does not have.
    """
    from torch._subclasses import fake_impls, fake_tensor

    with ExitStack() as stack:
        for module in (fake_tensor, fake_impls):
            if hasattr(module, "run_fallback_kernel"):
                own = loud(_run(module.run_fallback_kernel))
                stack.enter_context(mock.patch.object(module, "run_fallback_kernel", own))
        yield


def _run(original: Callable[..., Any]) -> Callable[..., Any]:
    def run(mode: Any, operator: Any, flat_args: Any, *rest: Any) -> Any:
        devices = {getattr(getattr(a, "fake_device", None), "type", "") for a in flat_args}
        if "cuda" not in devices:
            return original(mode, operator, flat_args, *rest)
        raise TargetError(
            f"{operator}, {being_traced()}",
            "it has no meta kernel: PyTorch runs it on the GPU to learn the shape it returns",
            "capture on the GPU; or give it one, torch.library.register_fake",
        )

    return run
