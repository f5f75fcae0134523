"""Each call of one function, at three levels: ATen, Core ATen, prims.

From left to right: a call, what Core ATen's table makes of it, and what prims make of that. A call
that the table does not take apart *stays*.
"""

import torch
import torch.nn.functional as F

import tclab


def f(x, w, scale):
    h = F.silu(x @ w)
    h = F.layer_norm(h, (8,), scale)
    return torch.softmax(h, -1) + 1


x, w, scale = torch.randn(4, 8), torch.randn(8, 8), torch.ones(8)
levels = tclab.levels(f, x, w, scale)
tclab.show(levels)

aten, core, prims = levels.levels
lengths = [len(level.calls) for level in levels.levels]
tclab.show(
    tclab.Table(
        "Calls at each level",
        "calls",
        ("level", "calls", "operators"),
        [(level.label, len(level.calls), len(level.counts)) for level in levels.levels],
    )
)


def becomes(label, name):
    return [call.operator for call in levels.calls_below(label, name)]


# claim: silu-is-not-core
assert becomes("ATen", "silu") == ["aten.sigmoid", "aten.mul.Tensor"]
# claim: layer-norm-stays-in-core
assert becomes("ATen", "native_layer_norm") == ["aten.native_layer_norm"]
# claim: softmax-stays-in-core
assert becomes("ATen", "_softmax") == ["aten._softmax"]
below = becomes("Core ATen", "_softmax")
# claim: softmax-in-prims
assert "prims.broadcast_in_dim" in below and [op for op in below if "broadcast" not in op] == [
    *("prims.amax", "prims.sub", "prims.exp", "prims.sum", "prims.div")
]
# claim: a-product-stays-to-the-end
assert [op for op in prims.operators if not op.startswith("prims.")] == ["aten.mm"]
# claim: each-call-has-one-above
assert all(call.origin in {above.name for above in core.calls} for call in prims.calls)
# claim: more-calls-at-each-level
assert lengths[0] < lengths[1] < lengths[2]
# claim: broadcasts-are-the-most
assert max(prims.counts, key=prims.counts.get) == "prims.broadcast_in_dim"
