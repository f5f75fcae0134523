"""Dynamic shapes and CUDA graphs: one compile, and a graph for each size.

The function is compiled once with a symbolic size. Each size is called three times; the column
counts kernels and graphs of the last of them, and the graphs recorded so far.
"""
# tclab: needs=cuda,triton

import torch
from _launches import launches
from torch._dynamo.utils import counters

import tclab


def chain(x, w):
    for _ in range(4):
        x = torch.relu(x @ w)
    return x


torch.manual_seed(0)
w = torch.randn(256, 256, device="cuda") * 0.05
compiled = torch.compile(chain, mode="reduce-overhead", dynamic=True)
launches(lambda: chain(w, w))
rows = []
for size in (64, 65, 66, 64):
    before = torch.cuda.memory_reserved()
    x = torch.randn(size, 256, device="cuda")
    _, first_kernels, first_graphs = launches(lambda: compiled(x, w))
    torch.compiler.cudagraph_mark_step_begin()
    compiled(x, w)
    torch.compiler.cudagraph_mark_step_begin()
    _, kernels, graphs = launches(lambda: compiled(x, w))
    rows.append((size, counters["stats"]["unique_graphs"], first_kernels, first_graphs, kernels,
                 graphs))  # fmt: skip
    torch.compiler.cudagraph_mark_step_begin()

tclab.show(tclab.Table(
    title="Four sizes, one compile", name="sizes",
    columns=("rows of x", "compiles so far", "first call: kernels", "first call: graphs",
             "third call: kernels", "third call: graphs"),
    rows=rows,
))  # fmt: skip

# claim: one-compile-for-all-sizes
assert rows[-1][1] == 1, rows
# claim: a-new-size-is-recorded-anew
assert rows[1][3] == 0 and rows[1][5] == 1, rows
# claim: a-size-seen-before-is-replayed-at-once
assert rows[3][3] == 1, rows
