"""Which kernels a call really launched, as the profiler saw them on the device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity, profile

if TYPE_CHECKING:
    from collections.abc import Callable


def launched(fn: Callable[..., Any], *args: Any) -> list[str]:
    """Names of the kernels that one warmed-up call of `fn` launches, in order.

    Ranges a program marks (`record_function`) also lie on the device's timeline: left out.
    """
    fn(*args)  # compiles and autotunes, which launch kernels too
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as seen:
        fn(*args)
        torch.cuda.synchronize()
    events = [e for e in seen.events() if e.device_type == DeviceType.CUDA]
    kernels = [e for e in events if not e.is_user_annotation]
    return [e.name for e in sorted(kernels, key=lambda e: e.time_range.start)]


def relative_error(result: torch.Tensor, reference: torch.Tensor) -> float:
    """‖result − reference‖ / ‖reference‖ in float64; nan where an element was not computed."""
    exact = reference.double()
    return ((result.double() - exact).norm() / exact.norm()).item()
