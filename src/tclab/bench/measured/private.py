"""What the benchmarks ask of Inductor: the bytes it counts, and its own timing, one at a time."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from tclab.bench.rows import Facts
from tclab.capturing.torch_private.private import Private, gone
from tclab.capturing.torch_private.warming import MODULES

NAMES = (
    Private("torch._inductor.metrics", "num_bytes_accessed", "bytes that kernels read and write"),
    Private("torch._inductor.metrics", "generated_kernel_count", "kernels that were generated"),
    Private("torch._dynamo.utils", "counters", "graphs, breaks, skipped CUDA graphs"),
    Private("torch._inductor.runtime.benchmarking", "InductorBenchmarker.benchmark_gpu", "its own"),
    Private("torch._logging", "set_logs", "bytes are counted for a log only"),
)


def import_first() -> None:
    """The modules a first compile imports, so that their import is not counted as compiling."""
    for name in MODULES:
        try:
            importlib.import_module(name)
        except ImportError:  # another version's: its first compile imports what it needs
            continue


def counted() -> Facts:
    """What the compiles of this process came to; empty where PyTorch has moved the names.

    `ir_bytes` are those of Inductor's own count over its fused kernels, each read and write once.
    """
    if gone(NAMES[:3]):
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


def count_bytes() -> None:
    """Let Inductor count `ir_bytes`, which it does only for its log of metrics."""
    if not gone(NAMES[4:]):
        from torch._logging import set_logs

        set_logs(inductor_metrics=True)


def tune_alone(exclusive: Callable[[], AbstractContextManager[None]]) -> None:
    """Let Inductor time its candidates only while `exclusive` holds: others use the same GPU."""
    if gone(NAMES[3:4]):
        return
    from torch._inductor.runtime.benchmarking import InductorBenchmarker

    timed = InductorBenchmarker.benchmark_gpu

    def benchmark_gpu(self: Any, *arguments: Any, **options: Any) -> Any:
        with exclusive():
            return timed(self, *arguments, **options)

    InductorBenchmarker.benchmark_gpu = benchmark_gpu
