"""What is saved for the backward, in bytes.

Four ways to run the same function. Eager saves what each operation asks for.
A partitioner that only splits saves the same. The min-cut partitioner may compute a cheap
value again in the backward instead of saving it. After Inductor's decompositions there are more
cheap values to choose from, so it saves less still. The bytes are counted while the
function runs, by a hook on every tensor that autograd saves.
"""

import torch

import tclab


def f(x, w):
    h = torch.nn.functional.gelu(x @ w)
    return (h * torch.sigmoid(h)).cos().sum()


def saved(fn, *args):
    """Tensors and bytes that autograd holds from forward to backward."""
    sizes = {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        sizes[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        loss = fn(*args)
    gradient = torch.autograd.grad(loss, args[1])[0]
    return len(sizes), sum(sizes.values()), gradient


torch.manual_seed(0)
x = torch.randn(256, 64)
w = torch.randn(64, 128, requires_grad=True)
rows = [("eager", *saved(f, x, w))]
for backend in ("aot_eager_default_partitioner", "aot_eager", "inductor"):
    torch._dynamo.reset()
    compiled = torch.compile(f, backend=backend)
    compiled(x, w)  # compile first, then count
    rows.append((backend, *saved(compiled, x, w)))

for row in rows:
    torch.testing.assert_close(row[3], rows[0][3], rtol=1e-4, atol=1e-4)
eager, split, min_cut, inductor = (row[2] for row in rows)
assert eager == split > min_cut > inductor

tclab.show(
    tclab.Table(
        title="Held from forward to backward",
        columns=("run as", "tensors", "bytes", "of eager"),
        units=("", "", "", "%"),
        formats=("", "", ",d", ".0f"),
        rows=[(*row[:3], 100 * row[2] / eager) for row in rows],
        caption=f"x is {x.nbytes:,d} bytes, w {w.nbytes:,d}, x @ w {256 * 128 * 4:,d}.",
    ),
    name="saved",
)
