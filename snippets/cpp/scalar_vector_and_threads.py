"""Scalar, vector, threads: the same kernel three ways, measured.

`cpp.simdlen` sets the vector width (0: scalar code) and `cpp.threads` the number of threads. The
first function is arithmetic on little data: a sigmoid, a tangent, an exponential. Fusion saves
little of that, and eager's kernels have vectors and threads, too. The second adds and multiplies
much data: there the trips to memory decide. Every variant is checked against float64 first.
"""
# tclab: alone=true timeout=240

import os
import statistics
import time

import torch

import tclab

N = 200_000  # float32 in and out: 1.6 MB


def f(x):
    return torch.sigmoid(x) * torch.tanh(x) + torch.exp(-x * x)


def chain(x):
    for step in range(8):
        x = (x + step) * 0.5
    return x


def milliseconds(fns, x, rounds=11, calls=5):
    """Median time of one call of each function, the functions taking turns."""
    times = [[] for _ in fns]
    for _ in range(rounds):
        for fn, kept in zip(fns, times):
            start = time.perf_counter()
            for _ in range(calls):
                fn(x)
            kept.append((time.perf_counter() - start) / calls * 1e3)
    return [statistics.median(kept) for kept in times]


threads = os.cpu_count() or 1
ways = {
    "scalar, 1 thread": {"cpp.simdlen": 0, "cpp.threads": 1},
    "vector, 1 thread": {"cpp.threads": 1},
}
if threads > 1:
    ways[f"vector, {threads} threads"] = {"cpp.threads": threads}
x, fns = torch.randn(N), []
exact = f(x.double())
for way, options in ways.items():
    c = tclab.capture(f, options=options)(x)
    assert ("Vectorized" in c.kernels[0].code) == way.startswith("vector")
    fns.append(torch.compile(f, options=options))
    assert torch.allclose(fns[-1](x).double(), exact, atol=1e-5)

fns.append(f)
times = dict(zip([*ways, f"eager, {torch.get_num_threads()} threads"], milliseconds(fns, x)))
scalar, vector, *_ = times.values()
# claim: vectors-help-arithmetic
assert vector < scalar
rows = [(way, ms, scalar / ms) for way, ms in times.items()]
tclab.show(
    tclab.Table(
        title="Scalar, vector, threads",
        columns=("code", "time", "against scalar"),
        rows=rows,
        units=("", "ms", "×"),
        formats=("", ".3f", ".1f"),
    )
)
large = torch.randn(8_000_000)  # 32 MB
compiled = torch.compile(chain)
assert torch.allclose(compiled(large).double(), chain(large.double()), atol=1e-5)
slow, fast = milliseconds([chain, compiled], large, rounds=5, calls=1)
# claim: fewer-trips-help
assert fast < slow / 2
tclab.show(
    tclab.Table(
        title="Sixteen cheap operations on 32 MB",
        columns=("code", "time", "against eager"),
        rows=[("eager", slow, 1.0), ("compiled", fast, slow / fast)],
        units=("", "ms", "×"),
        formats=("", ".1f", ".1f"),
    )
)
