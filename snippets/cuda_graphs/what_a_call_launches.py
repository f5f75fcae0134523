"""reduce-overhead, call by call: launches one by one, then one graph.

The profiler counts what each call asks of the GPU.
"""
# tclab: needs=cuda,triton

import torch
from _launches import launches

import tclab


def chain(x, w):
    for _ in range(8):
        x = torch.relu(x @ w)
    return x.sum(dim=-1)


torch.manual_seed(0)
x, w = torch.randn(64, 512, device="cuda"), torch.randn(512, 512, device="cuda") * 0.05
plain, recorded = torch.compile(chain), torch.compile(chain, mode="reduce-overhead")
launches(lambda: chain(x, w))  # the profiler's own first time

rows = []
for number in range(1, 6):
    result, kernels, graphs = launches(lambda: recorded(x, w))
    torch.testing.assert_close(result, chain(x, w), rtol=1e-3, atol=1e-3)
    rows.append((number, kernels, graphs))
for _ in range(2):
    plain(x, w)
_, default, none = launches(lambda: plain(x, w))
_, eager, _ = launches(lambda: chain(x, w))

tclab.show(tclab.Table(
    title="What each call of the function launches", name="calls",
    columns=("call", "kernels", "CUDA graphs"),
    rows=[*rows, ("compiled, without CUDA graphs", default, none), ("eager", eager, 0)],
))  # fmt: skip

# claim: the-first-call-launches-kernels
assert rows[0][1] > 0 and rows[0][2] == 0, rows
# claim: from-the-third-call-on-one-graph
assert all(graphs == 1 for _, _, graphs in rows[2:]), rows
# claim: a-replay-launches-fewer-kernels-than-the-compiled-function
assert all(kernels < default for _, kernels, _ in rows[2:]), (rows, default)
# claim: without-cuda-graphs-every-call-launches-its-kernels
assert default > 8 and none == 0, default
