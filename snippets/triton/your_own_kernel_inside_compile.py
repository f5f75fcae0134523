"""Your own Triton kernel inside `torch.compile`.

Dynamo puts the launch into the graph as one node: no graph break. Inductor copies the kernel into
its own output as it is. It does not fuse into it: what stands before and after stays a kernel of
its own, so three are launched where plain PyTorch code would have needed one.
"""
# tclab: needs=cuda timeout=120

import torch
import triton
import triton.language as tl
from _launches import launched, relative_error

import tclab


@triton.jit
def scale_add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, 2.0 * x + y, mask=mask)


def mine(x, y):
    x = torch.sin(x)
    out = torch.empty_like(x)
    scale_add[(triton.cdiv(x.numel(), 1024),)](x, y, out, x.numel(), BLOCK=1024)
    return torch.relu(out)


def plain(x, y):
    return torch.relu(2.0 * torch.sin(x) + y)


x, y = torch.randn(2, 1_000_003, device="cuda").unbind()
x, y = x.clone(), y.clone()
exact = plain(x.double(), y.double())

c = tclab.capture(mine, fullgraph=True)(x, y)
assert len(c.breaks) == 0
assert any("triton_kernel_wrapper" in node.target for node in c.graphs[0].nodes)
assert "def scale_add(" in c.wrapper[0].code
assert relative_error(c.result, exact) < 1e-6

names = {f.__name__: launched(torch.compile(f), x, y) for f in (mine, plain)}
assert len(names["mine"]) == 3 and any("scale_add" in n for n in names["mine"])
assert len(names["plain"]) == 1

tclab.show(c.graphs[0], name="graph")
tclab.show(c.wrapper[0], name="wrapper")
rows = [(f, len(n), "; ".join(n)) for f, n in names.items()]
tclab.show(
    tclab.Table(title="Launches", columns=("function", "kernels", "names"), rows=rows),
    name="launches",
)
