"""Four ways to time one function, three of them wrong.

Launching a kernel returns before the kernel has run, so a clock without a wait measures the
launch. A first call measures the compiler. A tensor that fits into the cache, used again and
again, may be answered from there. What is left is the time of the function: warmed up, waited
for, with fresh data in memory.
"""
# tclab: needs=cuda alone=true timeout=120 memory=16384

import time

import torch
from _tables import table
from _timing import error, first_call, microseconds

import tclab


def f(x):
    return torch.sigmoid(x) * x + 1.0


big = [(torch.randn(2**28, device="cuda"),) for _ in range(2)]  # 1 GiB each
compiled = torch.compile(f, dynamic=False)
out, first = first_call(compiled, *big[0])
assert error(out, f(big[0][0].double())) < 1e-6
right = microseconds(compiled, big)

torch.cuda.synchronize()
start = time.perf_counter()
for args in big * 8:
    compiled(*args)
unwaited = (time.perf_counter() - start) / (8 * len(big)) * 1e6
torch.cuda.synchronize()

BYTES = 2 * big[0][0].nbytes  # read once, written once
rows = [
    ("no wait for the device", unwaited, BYTES / unwaited / 1e6),
    ("the first call", first * 1e6, BYTES / first / 1e12),
    ("warmed up and waited for", right, BYTES / right / 1e6),
]
assert unwaited < right < first * 1e6

small = [(torch.randn(6 * 2**20, device="cuda"),) for _ in range(16)]  # 24 MiB, 384 in all
y = torch.empty_like(small[0][0])
mb = 2 * y.nbytes
same = microseconds(lambda x: torch.add(x, 1.0, out=y), small[:1])
fresh = microseconds(lambda x: torch.add(x, 1.0, out=y), small)
rows += [("24 MiB, one tensor again and again", same, mb / same / 1e6)]
rows += [("24 MiB, 16 tensors in turn", fresh, mb / fresh / 1e6)]

columns = {"how it was timed": "", "time": "µs .1f", "apparent rate": "TB/s .2f"}
tclab.show(table("One function, timed five ways", columns, rows), name="timings")
tclab.show(
    f"Without a wait the kernel seems {right / unwaited:.1f} times faster than it is.",
    name="summary",
)
