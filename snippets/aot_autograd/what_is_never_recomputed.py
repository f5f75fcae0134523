"""What the cut does not recompute, although it would save memory.

Some operations are banned from the backward before the cut is sought, among them those that are
not on a list of cheap ones, and those with a small result, such as a reduction.
`aggressive_recomputation` lifts most bans. Where it saves fewer bytes, the default plan was not the
one with the fewest. Counted are storages that no argument owns; the operations are those after
Inductor's decompositions.
"""

import torch
from _saved import activations, saved
from torch._dynamo.backends.common import aot_autograd
from torch._functorch import config
from torch._functorch.aot_autograd import make_boxed_func
from torch._functorch.partitioners import min_cut_rematerialization_partition
from torch._inductor.decomposition import select_decomp_table

import tclab


def pointwise(x, w):
    return torch.sin(torch.exp(torch.cos(x * w)))


def long_chain(x, w):
    y = x * w
    for _ in range(110):
        y = torch.sin(y)
    return y


def product(x, w):
    return torch.sin(torch.exp(x @ w))


def product_of_a_tanh(x, w):
    return torch.tanh(x * 2) @ w


def row_sums(x, w):
    return x * w / (x * w).exp().sum(-1, keepdim=True)


def sorted_rows(x, w):
    return torch.sin((x * w).sort().values)


def plan(fn):
    """`fn` with Inductor's plan of what is saved, and without generated code."""

    def note(graph, inputs):
        given[fn.__name__] = [node.name for node in graph.graph.nodes if node.op == "placeholder"]
        return make_boxed_func(graph.forward)

    torch._dynamo.reset()
    backend = aot_autograd(
        fw_compiler=lambda graph, inputs: make_boxed_func(graph.forward),
        bw_compiler=note,
        partition_fn=min_cut_rematerialization_partition,
        decompositions=select_decomp_table(),
    )
    return torch.compile(fn, backend=backend)


torch.manual_seed(0)
x = torch.randn(128, 128, requires_grad=True)
w = torch.randn(128, 128, requires_grad=True)
rows, given = [], {}  # what the backward of each is given
for f in (pointwise, long_chain, product, product_of_a_tanh, row_sums, sorted_rows):
    eager, expected = saved(f, x, w)
    kept = []
    for aggressive in (False, True):
        with config.patch(aggressive_recomputation=aggressive):
            storages, gradients = saved(plan(f), x, w)
        torch.testing.assert_close(gradients, expected, rtol=1e-4, atol=1e-4)
        kept.append(activations(storages, x, w))
    rows.append((f.__name__, activations(eager, x, w), *kept))

held = {name: (default, aggressive) for name, _, default, aggressive in rows}
# claim: a-chain-is-recomputed
assert held["pointwise"] == (0, 0)
# claim: a-long-chain-is-cut
assert held["long_chain"] == (x.nbytes, 0)
# claim: a-product-is-not
assert held["product"] == (x.nbytes, x.nbytes) and "mm" in given["product"]
# claim: what-a-product-needs-is-kept
assert held["product_of_a_tanh"] == (x.nbytes, x.nbytes)
# claim: a-small-sum-is-kept
assert held["row_sums"] == (128 * 4, 128 * 4)
# claim: not-the-fewest-bytes
assert held["sorted_rows"][0] > held["sorted_rows"][1] == 0

tclab.show(
    tclab.Table(
        title="Activations saved",
        columns=("function", "eager", "default", "aggressive_recomputation"),
        units=("", "bytes", "bytes", "bytes"),
        formats=("", ",d", ",d", ",d"),
        rows=rows,
        caption=f"x and w are {x.nbytes:,d} bytes each.",
    ),
    name="saved",
)
