"""Use private names of Inductor: its counters, and the function that times candidates."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from tclab.capturing.torch_private.private import Private, describe_missing
from tclab.capturing.torch_private.warming import MODULES
from tclab.workshop.bench.rows import Facts

NAMES = (
    Private("torch._inductor.metrics", "num_bytes_accessed", "bytes that kernels read and write"),
    Private("torch._inductor.metrics", "generated_kernel_count", "kernels that were generated"),
    Private("torch._dynamo.utils", "counters", "graphs, breaks, skipped CUDA graphs"),
    Private("torch._inductor.runtime.benchmarking", "InductorBenchmarker.benchmark_gpu", "its own"),
    Private("torch._logging", "set_logs", "bytes are counted for a log only"),
)


def import_compiler_modules() -> None:
    """Import the modules that a first compile needs, so that their import is not timed with it."""
    for name in MODULES:
        try:
            importlib.import_module(name)
        except ImportError:  # this PyTorch lacks the module
            continue


def read_counters() -> Facts:
    """Return the counts of this process's compiles; empty if PyTorch lacks the private names.

    `ir_bytes` is Inductor's count of the bytes that its fused kernels read and write.
    """
    if describe_missing(NAMES[:3]):
        return {}
    from torch._dynamo.utils import counters
    from torch._inductor import metrics

    return {
        "graphs": int(counters["stats"]["unique_graphs"]),
        "breaks": sum(counters["graph_break"].values()),
        "graphs_skipped": int(counters["inductor"]["cudagraph_skips"]),
        "kernels": int(metrics.generated_kernel_count),
        "ir_bytes": int(metrics.num_bytes_accessed),
    }


def enable_byte_count() -> None:
    """Make Inductor count `ir_bytes`. It counts them only while it logs its metrics."""
    if not describe_missing(NAMES[4:]):
        from torch._logging import set_logs

        set_logs(inductor_metrics=True)


def serialize_tuning(hold_lock: Callable[[], AbstractContextManager[None]]) -> None:
    """Make Inductor hold the lock while it times candidates, since workers share the GPU."""
    if describe_missing(NAMES[3:4]):
        return
    from torch._inductor.runtime.benchmarking import InductorBenchmarker

    original = InductorBenchmarker.benchmark_gpu

    def benchmark_gpu(self: Any, *arguments: Any, **options: Any) -> Any:
        with hold_lock():
            return original(self, *arguments, **options)

    InductorBenchmarker.benchmark_gpu = benchmark_gpu
