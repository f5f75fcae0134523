"""Timing helpers the benchmark snippets share; every number on the benchmark page comes from here.

A call is timed as a program makes it: back to back, so that launch overhead counts when the
device waits for it. Inputs rotate, so that a cache does not answer for memory. Medians, not means.
"""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def synchronize() -> None:
    """Wait for the device; nothing to wait for on a machine without one."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def _batch_ms(fn: Callable[..., Any], inputs: Sequence[tuple], calls: int, on_gpu: bool) -> float:
    """Milliseconds for `calls` calls: device events on a GPU, the host's clock without one."""
    if on_gpu:
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for i in range(calls):
            fn(*inputs[i % len(inputs)])
        end.record()
        end.synchronize()
        return begin.elapsed_time(end)
    start = time.perf_counter()
    for i in range(calls):
        fn(*inputs[i % len(inputs)])
    return (time.perf_counter() - start) * 1e3


def side_by_side(
    fns: Sequence[Callable[..., Any]],
    inputs: Sequence[tuple],
    *,
    seconds: float = 0.3,
    samples: int = 11,
) -> list[float]:
    """Median time of one call of each function in µs, the functions taking turns.

    Each is measured in `samples` stretches of calls that fill `seconds` together; turns keep a
    drift of the machine from favouring one. `inputs` are argument tuples, used in rotation.
    """
    on_gpu = any(isinstance(a, torch.Tensor) and a.is_cuda for a in inputs[0])
    few, calls = max(3, len(inputs)), []
    for fn in fns:
        _batch_ms(fn, inputs, few, on_gpu)  # warm-up
        probe = max(_batch_ms(fn, inputs, few, on_gpu) / few, 1e-3)
        calls.append(max(1, round(seconds * 1e3 / samples / probe)))
    turns = [[_batch_ms(f, inputs, n, on_gpu) / n for f, n in zip(fns, calls)]
             for _ in range(samples)]  # fmt: skip
    return [statistics.median(times) * 1e3 for times in zip(*turns)]


def microseconds(fn: Callable[..., Any], inputs: Sequence[tuple], **how: Any) -> float:
    """Median time of one call of one function in µs; see `side_by_side`."""
    return side_by_side([fn], inputs, **how)[0]


def first_call(fn: Callable[..., Any], *args: Any) -> tuple[Any, float]:
    """The result of a first call, and its seconds: the compile and one run."""
    synchronize()
    start = time.perf_counter()
    result = fn(*args)
    synchronize()
    return result, time.perf_counter() - start


def error(result: torch.Tensor, reference: torch.Tensor) -> float:
    """‖result − reference‖ / ‖reference‖, in float64; nan if any element was not computed."""
    exact = reference.double()
    return ((result.double() - exact).norm() / exact.norm()).item()


def copy_bandwidth(gib: float = 2.0) -> float:
    """Bytes a second of a device-to-device copy, read plus written: the ceiling for this card."""
    n = int(gib * 2**30) // 4
    source, target = torch.rand(n, device="cuda"), torch.empty(n, device="cuda")
    us = microseconds(target.copy_, [(source,)])
    return 2 * source.nbytes / (us * 1e-6)
