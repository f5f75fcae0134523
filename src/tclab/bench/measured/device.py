"""The device at hand: how to wait for it, how to time on it, how large its last cache is."""

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


def wait(device: str) -> None:
    """Until the device has done what it was given; a CPU has."""
    if device == "cuda":
        torch.cuda.synchronize()


def microseconds(
    fn: Callable[..., Any], inputs: Sequence[tuple[Any, ...]], calls: int, device: str
) -> float:
    """Time of one call in µs over a stretch of calls: device events, or the host's clock.

    Calls follow each other as a program makes them, so launching counts where the device waits.
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


def seconds(fn: Callable[..., Any], arguments: tuple[Any, ...], device: str) -> float:
    """Seconds of one call, waited for, by the host's clock."""
    wait(device)
    start = time.perf_counter()
    fn(*arguments)
    wait(device)
    return time.perf_counter() - start


def last_cache(device: str) -> int:
    """Bytes of the last cache, asked of the device; 64 MiB where a CPU does not tell."""
    if device == "cuda":
        return int(torch.cuda.get_device_properties(0).L2_cache_size)
    sizes = [_size(path) for path in _CACHES.glob("index*/size")]
    return max(sizes, default=64 * 2**20)


def _size(path: Path) -> int:
    """Bytes from a text such as ``36608K``."""
    match = re.match(r"(\d+)([KMG]?)", path.read_text(encoding="ascii"))
    return int(match[1]) * _UNITS.get(match[2], 1) if match else 0


def forget_peak(device: str) -> None:
    """Start to watch for the most memory anew."""
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()


def peak(device: str) -> int:
    """The most bytes of tensors since `forget_peak`; on a CPU the process's own peak."""
    if device == "cuda":
        return int(torch.cuda.max_memory_allocated())
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def reserved(device: str) -> int:
    """Bytes that PyTorch keeps of the device, the memory of CUDA graphs included; 0 on a CPU."""
    return int(torch.cuda.memory_reserved()) if device == "cuda" else 0
