"""Wait for a device, time calls on it, and read its cache size and memory use."""

from __future__ import annotations

import re
import resource
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
_UNITS = {"K": 2**10, "M": 2**20, "G": 2**30}


def synchronize(device: str) -> None:
    """Wait until the GPU has finished its work; on a CPU there is nothing to wait for."""
    if device == "cuda":
        torch.cuda.synchronize()


def time_calls(
    fn: Callable[..., Any], inputs: Sequence[tuple[Any, ...]], calls: int, device: str
) -> float:
    """Return the mean time of one call in µs over `calls` calls, by GPU events or the host's clock.

    The calls follow each other as in a program, so the time of launches counts if the device waits
    for them.
    """
    if device != "cuda":
        start = time.perf_counter()
        for i in range(calls):
            fn(*inputs[i % len(inputs)])
        return (time.perf_counter() - start) * 1e6 / calls
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for i in range(calls):
        fn(*inputs[i % len(inputs)])
    end.record()
    end.synchronize()
    return float(begin.elapsed_time(end)) * 1e3 / calls


def time_one_call(fn: Callable[..., Any], arguments: tuple[Any, ...], device: str) -> float:
    """Return the seconds of one call until the device has finished, by the host's clock."""
    synchronize(device)
    start = time.perf_counter()
    fn(*arguments)
    synchronize(device)
    return time.perf_counter() - start


def last_cache(device: str) -> int:
    """Return the bytes of the device's last-level cache; 64 MiB if the size of a CPU's cache is
    unknown.
    """
    if device == "cuda":
        return int(torch.cuda.get_device_properties(0).L2_cache_size)
    sizes = [_parse_size(path) for path in _CACHES.glob("index*/size")]
    return max(sizes, default=64 * 2**20)


def _parse_size(path: Path) -> int:
    """Return the bytes that a file names, such as ``36608K``."""
    match = re.match(r"(\d+)([KMG]?)", path.read_text(encoding="ascii"))
    return int(match[1]) * _UNITS.get(match[2], 1) if match else 0


def reset_peak_memory(device: str) -> None:
    """Reset the peak of the GPU's memory use."""
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()


def peak_bytes(device: str) -> int:
    """Return the peak bytes of tensors since `reset_peak_memory`; on a CPU, the peak bytes of the
    process.
    """
    if device == "cuda":
        return int(torch.cuda.max_memory_allocated())
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def reserved_bytes(device: str) -> int:
    """Return the bytes that PyTorch reserves on the GPU, with CUDA graphs; 0 on a CPU."""
    return int(torch.cuda.memory_reserved()) if device == "cuda" else 0
