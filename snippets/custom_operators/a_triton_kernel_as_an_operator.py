"""`triton_op`: a Triton kernel behind an operator that the compiler looks into.

The operator is one node of Dynamo's graph. Below, Inductor finds the launch in it, since it was
wrapped, and puts the kernel into its own output. Its derivative is given as for any operator.
"""
# tclab: needs=cuda,triton timeout=120 memory=8192

import torch
import triton
import triton.language as tl
from torch.library import triton_op, wrap_triton

import tclab


@triton.jit
def scale_add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, 2.0 * x + y, mask=mask)


@triton_op("tclab_triton::scale_add", mutates_args={})
def operator(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    n = x.numel()
    wrap_triton(scale_add)[(triton.cdiv(n, 1024),)](x, y, out, n, BLOCK=1024)
    return out


operator.register_autograd(lambda ctx, grad: (2.0 * grad, grad))


def f(x, y):
    return torch.relu(operator(torch.sin(x), y)).sum()


def plain(x, y):
    return torch.relu(2.0 * torch.sin(x) + y).sum()


def gradients(fn, *values):
    leaves = [value.detach().requires_grad_() for value in values]
    fn(*leaves).backward()
    return [leaf.grad.double() for leaf in leaves]


torch.manual_seed(0)
x, y = torch.randn(2, 100_003, device="cuda").unbind()
x, y = x.clone(), y.clone()
with torch.no_grad():
    c = tclab.capture(f, fullgraph=True)(x, y)
exact = gradients(plain, x.double(), y.double())
off = {
    name: max((a - b).abs().max().item() for a, b in zip(gradients(fn, x, y), exact))
    for name, fn in {"eager": f, "compiled": torch.compile(f)}.items()
}
nodes = [node.target for node in c.graphs[0].nodes if "scale_add" in node.target]
tclab.show(c.graphs[0], name="graph")
tclab.show(c.wrapper[0], name="wrapper")
columns = ("gradients", "off from float64")
tclab.show(
    tclab.Table(
        title="Its derivative",
        name="off",
        columns=columns,
        formats=("", ".1e"),
        rows=list(off.items()),
    )
)

# claim: one-node-in-one-graph
assert len(c.graphs) == 1 and len(c.breaks) == 0 and len(nodes) == 1
# claim: inductor-looks-into-it
assert "def scale_add(" in c.wrapper[0].code
# claim: its-gradient-is-right
assert max(off.values()) < 1e-5
