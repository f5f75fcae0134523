"""What is saved for the backward, in bytes.

Four ways to run the same function. Eager saves what each operation asks for.
A partitioner that only splits saves the same. The min-cut partitioner may compute a cheap
value again in the backward instead of saving it. After Inductor's decompositions there are more
cheap values to choose from, so it saves less still. The bytes are counted while the
function runs, by a hook on every tensor that autograd saves.
"""

import torch
from _saved import saved

import tclab


def f(x, w):
    h = torch.nn.functional.gelu(x @ w)
    return (h * torch.sigmoid(h)).cos().sum()


torch.manual_seed(0)
x = torch.randn(256, 64)
w = torch.randn(64, 128, requires_grad=True)
runs = {"eager": saved(f, x, w)}
for backend in ("aot_eager_default_partitioner", "aot_eager", "inductor"):
    torch._dynamo.reset()
    compiled = torch.compile(f, backend=backend)
    compiled(x, w)  # compile first, then count
    runs[backend] = saved(compiled, x, w)

for _, gradients in runs.values():
    torch.testing.assert_close(gradients, runs["eager"][1], rtol=1e-4, atol=1e-4)
eager, split, min_cut, inductor = (sum(storages.values()) for storages, _ in runs.values())
# claim: a-split-saves-what-eager-saves
assert split == eager
# claim: the-cut-saves-less
assert min_cut < split
# claim: after-decompositions-less-still
assert inductor < min_cut

tclab.show(
    tclab.Table(
        title="Held from forward to backward",
        columns=("run as", "storages", "bytes", "of eager"),
        units=("", "", "", "%"),
        formats=("", "", ",d", ".0f"),
        rows=[
            (way, len(storages), sum(storages.values()), 100 * sum(storages.values()) / eager)
            for way, (storages, _) in runs.items()
        ],
        caption=f"x is {x.nbytes:,d} bytes, w {w.nbytes:,d}, x @ w {256 * 128 * 4:,d}.",
    ),
    name="saved",
)
