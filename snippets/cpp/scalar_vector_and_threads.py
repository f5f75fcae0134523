"""Scalar, vector, threads: the same kernel three ways, measured.

`cpp.simdlen` sets the vector width (0: scalar code) and `cpp.threads` the number of threads. The
data fits in a core's cache, so that arithmetic decides and not memory. Every variant is checked
against float64 before it is timed.
"""
# tclab: alone=true timeout=180

import os
import statistics
import time

import torch

import tclab

N = 200_000  # float32 in and out: 1.6 MB


def f(x):
    return torch.sigmoid(x) * torch.tanh(x) + torch.exp(-x * x)


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
assert vector < scalar, "vectors did not help arithmetic"
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
tclab.show(f"Vectors alone make this kernel {scalar / vector:.1f} times as fast.", name="summary")
