"""What becomes of an operator: taken apart, lowered, or handed on.

AOTAutograd takes an operator apart if Inductor's table has a decomposition for it. What remains
is *lowered* to loops Inductor writes itself, or handed to PyTorch's own kernel: a *fallback*.
Each row below is one call, compiled; the counts come from the tables of this PyTorch.
"""

import torch
import torch.nn.functional as F
from _ir import kind, nodes
from torch._decomp import core_aten_decompositions
from torch._inductor import lowering
from torch._inductor.decomposition import decompositions

import tclab

x, image = torch.randn(64, 64), torch.randn(1, 3, 32, 32)
calls = {
    "relu": (torch.relu, x),
    "gelu": (F.gelu, x),
    "layer_norm": (lambda x: F.layer_norm(x, (64,)), x),
    "softmax": (lambda x: torch.softmax(x, -1), x),
    "cumsum": (lambda x: x.cumsum(0), x),
    "matmul": (lambda x: x @ x, x),
    "conv2d": (lambda i: F.conv2d(i, torch.ones(4, 3, 3, 3)), image),
    "sort": (lambda x: x.sort().values, x),
    "topk": (lambda x: x.topk(3).values, x),
    "linalg.inv": (torch.linalg.inv, x),
}
rows = []
for name, (f, arg) in calls.items():
    c = tclab.capture(f)(arg)
    targets = [n.target for n in c.forward[0].nodes if n.op.startswith("call_")]
    aten = dict.fromkeys(t.removeprefix("torch.ops.").rsplit(".", 1)[0] for t in targets)
    handed = [k.kernel_name.rsplit(".default")[0] for k in c.kernels if k.category == "extern"]
    rows.append((name, ", ".join(aten), len(c.kernels) - len(handed), ", ".join(handed)))

found = {name: (aten, generated, handed) for name, aten, generated, handed in rows}
# claim: gelu-is-taken-apart
assert "aten.erf" in found["gelu"][0] and "gelu" not in found["gelu"][0]
# claim: a-norm-is-generated
assert found["layer_norm"][1:] == (1, "") and found["softmax"][1:] == (1, "")
# claim: some-are-handed-on
assert all(found[name][1] == 0 and found[name][2] for name in ("matmul", "topk"))
columns = ("call", "ATen after decomposition", "generated kernels", "handed on to")
tclab.show(tclab.Table(title="What becomes of an operator", columns=columns, rows=rows))


def straight(x):
    return torch.cos(torch.sin(x))


def with_a_wall(x):
    return torch.cos(torch.sin(x).sort().values)


walls = []
for f in (straight, with_a_wall):
    c = tclab.capture(f)(x)
    handed = [k for k in c.kernels if k.category == "extern"]
    loops = [text for text in nodes(c.ir[0]).values() if not kind(text).startswith("Extern")]
    heads = [text.split("min_input_distance")[0] for text in loops]
    moved = sum(head.count(f"{{c0: {x.numel()}}}") * x.nbytes for head in heads)
    walls.append((f.__name__, len(c.kernels) - len(handed), moved, len(handed)))
# claim: a-wall-doubles-the-trips
assert walls[0][1:] == (1, 2 * x.nbytes, 0) and walls[1][1:] == (2, 4 * x.nbytes, 1)
columns = ("function", "generated kernels", "read and written by them", "handed on")
tclab.show(tclab.Table("A wall in the middle", "wall", columns, walls,
                       units=("", "", "bytes", ""), formats=("", "", ",d", "")))  # fmt: skip

inductors, core = set(decompositions), set(core_aten_decompositions())
counts = {
    "operators Inductor takes apart": len(inductors),
    "operators the Core ATen set takes apart": len(core),
    "of these, Inductor leaves whole": len(core - inductors),
    "operators with a lowering": len(lowering.lowerings),
    "of these, handed on to PyTorch's kernel": len(lowering.lowerings.keys() & lowering.fallbacks),
}
# claim: inductors-table-is-not-core-aten
assert len(inductors) > len(core) and core - inductors
tclab.show(
    tclab.Table(title="Sizes of the tables", columns=("table", "overloads"), rows=counts.items())
)
