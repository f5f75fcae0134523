"""How many kernels are compiled side by side, and by what."""

import os
from concurrent.futures import ThreadPoolExecutor

import torch
from _process import in_a_process
from torch._inductor.async_compile import AsyncCompile
from torch._inductor.compile_worker.subproc_pool import SubprocPool
from torch._inductor.config import decide_compile_threads

import tclab


def workers(setting):
    """What PyTorch decides with TORCHINDUCTOR_COMPILE_THREADS set so."""
    os.environ.pop("TORCHINDUCTOR_COMPILE_THREADS", None)
    if setting is not None:
        os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = setting
    return decide_compile_threads()


def pools(threads):
    """What Triton kernels are given to, and what C++ kernels are."""
    torch._inductor.config.compile_threads = threads
    return type(AsyncCompile.process_pool()), type(AsyncCompile.pool())


of_triton, of_cpp = in_a_process(pools, "unused", 2)
number = {setting: in_a_process(workers, "unused", setting) for setting in (None, "1", "8")}
cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
tclab.show(
    tclab.Table(
        title="Compile workers",
        name="workers",
        columns=("TORCHINDUCTOR_COMPILE_THREADS", "workers"),
        rows=[(setting or "not set", count) for setting, count in number.items()],
    )
)

# claim: one-for-each-core
assert number[None] == min(32, cores)
# claim: the-variable-decides
assert (number["1"], number["8"]) == (1, 8)
# claim: they-are-processes
assert of_triton is SubprocPool
# claim: those-of-cpp-are-threads
assert of_cpp is ThreadPoolExecutor
