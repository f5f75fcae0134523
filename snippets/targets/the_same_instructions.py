"""Kernels as the H200 launched them and as the target gives them, stage by stage down to SASS.

`tclab.capture(fn)` on a GPU compiles each Triton kernel again with the configuration that was
launched, for its stages; `tclab.capture(fn, target="h200")` starts from CPU tensors. The texts
are compared whole.
"""
# tclab: needs=cuda,triton

import torch
import torch.nn.functional as F

import tclab

STAGES = ("ttir", "ttgir", "llir", "ptx", "sass")


def pointwise(x, y):
    return torch.relu(x + 1) * y.tanh()


def transposed(x, y):
    return torch.relu(x.t() + y)


def softmax(x):
    return torch.softmax(x * 2, dim=-1)


def column_sum(x):
    return (x * x).sum(dim=0)


def layer_norm(x, weight, bias):
    return F.layer_norm(x, (x.shape[-1],), weight, bias)


def cross_entropy(x):
    return F.cross_entropy(x, torch.arange(x.shape[0], device=x.device))


def mlp(x, a, b):
    return F.gelu(x @ a) @ b


def dropout(x):
    return F.dropout(x, 0.25) + x


FUNCTIONS = {  # function → shapes of its inputs
    pointwise: [(4096, 4096), (4096, 1)], transposed: [(512, 4096), (4096, 512)],
    softmax: [(512, 1024)], column_sum: [(8192, 256)], layer_norm: [(512, 768), (768,), (768,)],
    cross_entropy: [(256, 32000)], mlp: [(64, 256), (256, 512), (512, 256)], dropout: [(1000, 33)],
}  # fmt: skip


def inputs(shapes, device):
    torch.manual_seed(0)
    made = [torch.randn(shape).to(device) for shape in shapes]
    return [x.requires_grad_() for x in made]


def compared(real, target):
    """For each stage ``same`` or ``other``; of another configuration nothing can be said."""
    if real.configuration.config != target.configuration.config:
        return ["–"] * len(STAGES)
    equal = [real.stages[s].code == target.stages[s].code for s in STAGES]
    return ["same" if same else "other" for same in equal]


assert torch.cuda.get_device_name() == "NVIDIA H200"
rows = []
for fn, shapes in FUNCTIONS.items():
    real = tclab.capture(fn, backward=True)(*inputs(shapes, "cuda")).compiled
    target = tclab.capture(fn, backward=True, target="h200")(*inputs(shapes, "cpu")).compiled
    assert [k.source for k in real] == [k.source for k in target], fn
    for r, t in zip(real, target):
        rows.append((fn.__name__, *compared(r, t), str(r.configuration), r.name))

tclab.show(tclab.Table(
    title="As launched against as the target gives it", name="stages",
    columns=("function", *STAGES, "configuration launched", "kernel"), rows=rows,
))  # fmt: skip
verdicts = [verdict for row in rows for verdict in row[1:-2]]
assert "other" not in verdicts
assert verdicts.count("same") >= len(STAGES) * 8
