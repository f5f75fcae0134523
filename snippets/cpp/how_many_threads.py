"""How many threads a kernel asks for, and when that is decided.

The pragma has no number where PyTorch's thread count is `os.cpu_count()`: OpenMP takes what is set
when the kernel runs. A number is written where `cpp.threads` asks for it, or where PyTorch's thread
count is another. The number of accumulators of a sum is in the code in any case, so another thread
count compiles again.
"""
# tclab: needs=cxx timeout=180

import os
import re

import torch
from torch._dynamo.eval_frame import _debug_get_cache_entry_list

import tclab

CORES = os.cpu_count()


def f(x):
    return x.sum()


x = torch.rand(200_003)


def written(threads, options):
    """The pragma, and the number of accumulators, of the kernel for a thread count."""
    torch.set_num_threads(threads)
    torch._dynamo.reset()
    c = tclab.capture(f, options=options)(x)
    torch.testing.assert_close(c.result, f(x))
    pragma = re.search(r"#pragma (omp parallel.*)", c.kernels[0].code)
    accumulators = re.search(r"acc0_arr\[(\d+)\]", c.kernels[0].code)
    return pragma and pragma[1], accumulators and int(accumulators[1])


rows = [
    ("as many as cores", "none", *written(max(CORES, 2), {})),
    ("one more", "none", *written(CORES + 1, {})),
    ("one more", "cpp.threads=4", *written(CORES + 1, {"cpp.threads": 4})),
]
few = tclab.capture(f, options={"cpp.threads": 4})(x[:64])
default, more, asked = (row[2:] for row in rows)
if tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 13):
    # claim: by-default-no-number, torch >= 2.13
    assert CORES == 1 or default == ("omp parallel", CORES)
# claim: another-count-is-written
assert more == (f"omp parallel num_threads({CORES + 1})", CORES + 1)
# claim: the-option-is-written
assert asked == ("omp parallel num_threads(4)", 4)
# claim: few-elements-are-not-shared
assert "#pragma omp" not in few.kernels[0].code

torch.set_num_threads(2)
torch._dynamo.reset()
compiled = torch.compile(f, backend="eager")
compiled(x)
torch.set_num_threads(3)
compiled(x)
# claim: another-count-compiles-again
assert len(_debug_get_cache_entry_list(f.__code__)) == 2

columns = ("PyTorch's threads", "option", "pragma", "accumulators of the sum")
tclab.show(tclab.Table("Threads in the source", "threads", columns, rows))
