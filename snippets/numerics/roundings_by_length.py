"""A chain of bfloat16 operations: the error after each, eager and compiled.

Eager rounds to 8 significant bits after every operation, since each result goes to memory. The
compiled loop holds float32 between them and rounds what it stores.
"""

import torch
from _errors import error

import tclab

N, STEPS = 1 << 14, 8


def chain(x, weight):
    """The result after each of eight steps of two operations."""
    results = []
    for _ in range(STEPS):
        x = x * weight + weight
        results.append(x)
    return results


torch.manual_seed(0)
x, weight = torch.randn(N).bfloat16(), (torch.rand(N) + 0.5).bfloat16()
exact = chain(x.double(), weight.double())
c = tclab.capture(chain)(x, weight)
ways = {
    "eager": chain(x, weight),
    "compiled": c.result,
    "one rounding": [r.bfloat16() for r in exact],
}
errors = {way: [error(r, e) for r, e in zip(result, exact)] for way, result in ways.items()}
tclab.show(
    tclab.Table(
        title="Relative error against float64, by length",
        name="lengths",
        columns=("operations", *errors),
        formats=("", *(".1e",) * 3),
        rows=[(2 * (n + 1), *(column[n] for column in errors.values())) for n in range(STEPS)],
    )
)
eager, fused, once = errors.values()

# claim: one-loop
assert len([kernel for kernel in c.kernels if kernel.category != "extern"]) == 1
# claim: eagers-error-grows
assert eager == sorted(eager) and eager[-1] > 1.5 * eager[0]
# claim: the-compiled-stays-at-one-rounding
assert all(abs(f - o) < 0.05 * o for f, o in zip(fused, once))
# claim: the-compiled-is-closer-at-every-length
assert all(f < e for f, e in zip(fused, eager))
