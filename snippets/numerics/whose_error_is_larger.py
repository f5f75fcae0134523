"""Whose error is larger: a tolerance against eager, and two errors against float64.

Three compiled functions: a sound one in float32, a sound one in bfloat16, and one in which the
lowering of tanh was replaced by that of sin. The inputs are small, so the replaced one is nearly
right. `same` is what PyTorch's own accuracy checks call.
"""

import logging

import torch
from _errors import compiled, error
from torch._dynamo.utils import same
from torch._inductor.lowering import lowerings

import tclab

logging.getLogger("torch._dynamo.utils").setLevel(logging.CRITICAL)
TANH, SIN = torch.ops.aten.tanh.default, torch.ops.aten.sin.default


def mean_square(x):
    return (x * x).view(64, -1).mean(-1)


def chain(x):
    for _ in range(4):
        x = x * 1.5 + x * x
    return x


def cast_inside(x):
    return chain(x.bfloat16())


def bounded(x):
    return torch.tanh(x)


def judged(fn, x, tolerance):
    """Whether a tolerance accepts it, both errors, their ratio, and whether `same` accepts it."""
    eager, exact, result = fn(x), fn(x.double()), compiled(fn)(x)
    accepted = torch.allclose(result, eager, rtol=tolerance, atol=tolerance)
    ours, theirs = error(eager, exact), error(result, exact)
    return accepted, ours, theirs, theirs / ours, same(eager, result, exact, tol=tolerance)


torch.manual_seed(0)
small = torch.rand(1 << 14) * 0.1
rounded = small.bfloat16() * 10
torch._inductor.config.force_disable_caches = True
rows = {
    "mean square, float32": judged(mean_square, small, 1e-4),
    "chain, bfloat16": judged(chain, rounded, 1e-3),
}
right, lowerings[TANH] = lowerings[TANH], lowerings[SIN]
rows["tanh with a fault planted"] = judged(bounded, small, 1e-3)
lowerings[TANH] = right
rows["tanh"] = judged(bounded, small, 1e-3)

tclab.show(
    tclab.Table(
        title="Four judgements",
        name="judgements",
        columns=(
            "compiled function",
            "within a tolerance of eager",
            "error, eager",
            "error, compiled",
            "ratio",
            "same()",
        ),
        formats=("", "", ".1e", ".1e", ".1f", ""),
        rows=[(name, *row) for name, row in rows.items()],
    )
)
plain, low, fault, sound = rows.values()

# claim: a-tolerance-refuses-the-better-result
assert not low[0] and low[3] < 1
# claim: a-tolerance-lets-a-fault-through
assert fault[0]
# claim: the-ratio-does-not
assert fault[3] > 2000
assert max(plain[3], low[3], sound[3]) < 3
# claim: a-cast-inside-undoes-double
assert error(cast_inside(small.double()), chain(small.double())) > 1e-3
by_eager_alone = same(chain(rounded), compiled(chain)(rounded), tol=1e-3)
# claim: same-judges-by-float64
assert low[4] and plain[4] and not by_eager_alone
# claim: but-it-begins-with-a-tolerance
assert fault[4]
