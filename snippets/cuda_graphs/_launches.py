"""What one call of a function asks of the GPU: kernels launched one by one, and whole graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

LAUNCHES = ("cudaLaunchKernel", "cudaLaunchKernelExC", "cuLaunchKernel", "cuLaunchKernelEx")


def launches(call: Callable[[], Any]) -> tuple[Any, int, int]:
    """The result of one call, the kernels it launched, and the CUDA graphs."""
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as seen:
        result = call()
        torch.cuda.synchronize()
    counts = {event.key: event.count for event in seen.key_averages()}
    kernels = sum(counts.get(name, 0) for name in LAUNCHES)
    return result, kernels, counts.get("cudaGraphLaunch", 0)
