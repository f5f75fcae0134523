"""How many kernels are compiled side by side, and by what."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor

import torch
from _process import in_a_process
from torch._inductor.async_compile import AsyncCompile
from torch._inductor.config import decide_compile_threads, worker_start_method

import tclab


def workers(setting):
    """What PyTorch decides with TORCHINDUCTOR_COMPILE_THREADS set so."""
    os.environ.pop("TORCHINDUCTOR_COMPILE_THREADS", None)
    if setting is not None:
        os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = setting
    return decide_compile_threads()


def pool(threads):
    """What C++ kernels are given to; Triton's go to processes, begun as `worker_start_method`."""
    torch._inductor.config.compile_threads = threads
    return type(AsyncCompile.pool())


def compiled_by_the_caller(threads):
    """Whether a kernel is compiled in the thread that asks for it, which waits."""
    torch._inductor.config.compile_threads = threads
    return AsyncCompile.submit(threading.get_ident) == threading.get_ident()


of_cpp = in_a_process(pool, "unused", 2)
by_caller = {threads: in_a_process(compiled_by_the_caller, "unused", threads) for threads in (1, 2)}
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
# claim: one-is-no-worker
assert by_caller == {1: True, 2: False}
# claim: they-are-processes
assert worker_start_method == "subprocess"
# claim: those-of-cpp-are-threads
assert of_cpp is ThreadPoolExecutor
