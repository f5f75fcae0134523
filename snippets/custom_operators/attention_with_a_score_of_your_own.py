"""FlexAttention: a score of your own, as a subgraph inside one operator.

`score_mod` is Python. Dynamo traces it into a graph of its own, and Inductor writes it into the
kernel. It is compared with float64, where the matrix of scores is made by hand.
"""
# tclab: timeout=240

import warnings

import torch
from torch.nn.attention.flex_attention import flex_attention

import tclab

HEADS, LENGTH, SIZE = 2, 128, 32


def with_distance(score, batch, head, query, key):
    return score - (query - key).abs() * 0.25


def attention(q, k, v):
    return flex_attention(q, k, v, score_mod=with_distance)


def by_hand(q, k, v):
    """The same in float64, with the matrix of scores."""
    q, k, v = q.double(), k.double(), v.double()
    positions = torch.arange(LENGTH)
    distance = (positions[:, None] - positions[None]).abs()
    scores = q @ k.transpose(-1, -2) / SIZE**0.5 - distance * 0.25
    return scores.softmax(-1) @ v


warnings.simplefilter("ignore")
torch.manual_seed(0)
torch.set_grad_enabled(False)
q, k, v = torch.randn(3, 1, HEADS, LENGTH, SIZE)
c = tclab.capture(attention, fullgraph=True)(q, k, v)
targets = [node.target for node in c.graphs[0].nodes]
kernels = [kernel for kernel in c.kernels if "flex_attention" in kernel.name.replace("-", "_")]
off = (c.result.double() - by_hand(q, k, v)).abs().max().item()
tclab.show(
    tclab.Table(
        title="FlexAttention on a CPU",
        name="attention",
        columns=("what", "is"),
        rows=[
            ("graphs", len(c.graphs)),
            ("nodes for the operator", sum("flex_attention" in target for target in targets)),
            ("kernels that hold it", len(kernels)),
            ("off from float64, with the matrix of scores", f"{off:.1e}"),
        ],
    )
)

# claim: one-graph-one-operator
assert len(c.graphs) == 1 and sum("flex_attention" in target for target in targets) == 1
# claim: the-score-is-a-subgraph
assert "score_mod" in c.graphs[0].code
# claim: inductor-writes-its-kernel
assert len(kernels) == 1 and "0.25" in kernels[0].code
# claim: it-is-right
assert off < 1e-5
