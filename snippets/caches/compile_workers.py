"""How many processes compile kernels."""

import os

from _process import in_a_process
from torch._inductor.config import decide_compile_threads, worker_start_method

import tclab


def workers(setting):
    """What PyTorch decides with TORCHINDUCTOR_COMPILE_THREADS set so."""
    os.environ.pop("TORCHINDUCTOR_COMPILE_THREADS", None)
    if setting is not None:
        os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = setting
    return decide_compile_threads()


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
assert worker_start_method == "subprocess"
