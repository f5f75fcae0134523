"""Recompute instead of save: the budget.

`activation_memory_budget` says how much of the default plan's memory the partitioner may use:
1.0 is the default, 0.0 saves the inputs only and computes the rest again. The backward then holds
operations that the forward also holds. You trade time for memory.
"""

import torch

import tclab


def f(x, w1, w2):
    h = torch.relu(x @ w1)
    return torch.sigmoid(h @ w2)


torch.manual_seed(0)
x = torch.randn(256, 64)
w1 = torch.randn(64, 128, requires_grad=True)
w2 = torch.randn(128, 32, requires_grad=True)
width = {"f32": 4, "b8": 1, "i64": 8}


def nbytes(node):
    size = width[node.dtype]
    for dim in node.shape:
        size *= int(dim)
    return size


rows, backwards, results = [], {}, []
for budget in (1.0, 0.5, 0.0):
    torch._dynamo.reset()
    with torch._functorch.config.patch(activation_memory_budget=budget):
        c = tclab.capture(f, backward=True, backend="aot_eager")(x, w1, w2)
    backward = c.backward[0]
    saved = [
        n for n in backward.nodes if n.op == "placeholder" and not n.name.startswith("tangents")
    ]
    made = [n for n in saved if not n.name.startswith("primals")]
    products = sum("mm" in n.target for n in backward.nodes)
    rows.append((budget, len(saved), sum(map(nbytes, made)), len(backward), products))
    backwards[budget] = backward
    results.append(c.result)

for result in results:
    torch.testing.assert_close(result, f(x, w1, w2))
assert rows[0][2] > rows[-1][2]  # fewer bytes saved ...
assert rows[0][3] < rows[-1][3]  # ... more operations in the backward

tclab.show(
    tclab.Table(
        title="Memory against work",
        columns=("budget", "saved tensors", "of these, activations", "operations in the backward",
                 "matrix products in it"),
        units=("", "", "bytes", "", ""),
        formats=(".1f", "", ",d", "", ""),
        rows=rows,
    ),
    name="budget",
)  # fmt: skip
tclab.show(backwards[1.0], name="backward-full-budget")
tclab.show(backwards[0.0], name="backward-no-budget")
