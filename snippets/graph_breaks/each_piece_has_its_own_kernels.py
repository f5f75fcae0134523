"""Each piece has kernels of its own.

Eight elementwise steps for an H200: in one graph they are one Triton kernel. A break in the middle
makes two graphs, so two kernels, and what the first one computed goes through memory.
"""
# tclab: needs=triton

import torch

import tclab


def two_steps(x):
    x = torch.relu(x * 0.9 + 0.1)
    return torch.relu(x * 0.9 - 0.1)


def one_graph(x):
    return two_steps(two_steps(x))


def two_graphs(x):
    x = two_steps(x)
    torch._dynamo.graph_break()
    return two_steps(x)


def moved(kernel, n):
    """Bytes read and written: each pointer of the kernel's signature is n floats."""
    return (
        sum(line.count("tl.load(") + line.count("tl.store(") for line in kernel.code.splitlines())
        * 4
        * n
    )


x = torch.randn(1_000_000)
rows = []
for fn in (one_graph, two_graphs):
    c = tclab.capture(fn, target="h200")(x)
    rows.append(
        (fn.__name__, len(c.graphs), len(c.kernels), sum(moved(k, x.numel()) for k in c.kernels))
    )

# claim: one-graph-one-kernel
assert rows[0][1:3] == (1, 1)
# claim: two-graphs-two-kernels
assert rows[1][1:3] == (2, 2)
# claim: twice-the-memory-traffic
assert rows[1][3] == 2 * rows[0][3]

columns = ("function", "graphs", "kernels", "read and written")
tclab.show(tclab.Table("Kernels for an H200", "kernels", columns, rows,
                       units=("", "", "", "bytes"), formats=("", "", "", ",d")))  # fmt: skip
