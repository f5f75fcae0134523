"""A device that knows few operators, all of them NumPy, runs two models.

The backend asks AOTAutograd for Inductor's decompositions and looks every operator of the graph
up in `KERNELS`. An operator that is not there ends the compile.
"""

import math

import numpy as np
import torch
import torch.nn.functional as F
from _levels import levels, operations
from functorch.compile import make_boxed_func
from torch._dynamo.backends.common import aot_autograd
from torch._inductor.decomposition import select_decomp_table

import tclab

erf = np.vectorize(math.erf, otypes=[np.float32])


def axes(dims):
    return tuple(dims) if dims else None


def var_mean(x, dims, correction=1, keepdim=False):
    where = {"axis": axes(dims), "keepdims": keepdim}
    return x.var(ddof=correction, **where), x.mean(**where)


UNARY = {"exp": np.exp, "neg": np.negative, "erf": erf, "rsqrt": lambda x: 1 / np.sqrt(x)}
UNARY |= {"sigmoid": lambda x: 1 / (1 + np.exp(-x)), "clone": lambda x, **_: x.copy()}
BINARY = {"add.Tensor": np.add, "add.Scalar": np.add, "sub.Tensor": np.subtract}
BINARY |= {"mul.Tensor": np.multiply, "div.Tensor": np.divide, "pow.Tensor_Scalar": np.power}
REDUCTIONS = {
    "amax": lambda x, dims, keep=False: x.max(axes(dims), keepdims=keep),
    "sum.dim_IntList": lambda x, dims, keep=False: x.sum(axes(dims), keepdims=keep),
    "mean.dim": lambda x, dims, keep=False: x.mean(axes(dims), keepdims=keep),
    "var_mean.correction": var_mean,
}
PRODUCTS = {"mm": np.matmul, "bmm": np.matmul, "addmm": lambda b, x, w: b + x @ w}
VIEWS = {"permute": np.transpose, "view": np.reshape, "unsqueeze": np.expand_dims}
VIEWS |= {"expand": np.broadcast_to}
KERNELS = {
    f"aten.{name}": kernel
    for group in (UNARY, BINARY, REDUCTIONS, PRODUCTS, VIEWS)
    for name, kernel in group.items()
}


class Device(torch.fx.Interpreter):
    """Runs a graph on arrays with the table above."""

    def call_function(self, target, args, kwargs):
        kernel = KERNELS.get(str(target).removesuffix(".default"), target)
        return kernel(*args, **kwargs)


def compiler(graph, example_inputs):
    if missing := set(operations(graph)) - KERNELS.keys():
        raise NotImplementedError(f"no kernel for {', '.join(sorted(missing))}")

    def run(*inputs):
        results = Device(graph).run(*(t.detach().numpy() for t in inputs))
        return [torch.as_tensor(np.ascontiguousarray(r)) for r in results]

    return make_boxed_func(run)


def mlp(x, w, v, b):
    return torch.softmax(F.gelu(F.layer_norm(x, (8,)) @ w + b) @ v, -1)


def attention(x, w, v, b):
    q, k = x * torch.rsqrt(x.square().mean(-1, keepdim=True)) @ w, F.silu(x + b) @ v
    return torch.softmax(q @ k.T / 8**0.5, -1) @ x


args = torch.randn(4, 8), torch.randn(8, 8), torch.randn(8, 8), torch.randn(8)
device = aot_autograd(fw_compiler=compiler, decompositions=select_decomp_table())
without = aot_autograd(fw_compiler=compiler)
rows, off, refused = [], [], []
for fn in (mlp, attention):
    torch._dynamo.reset()
    off.append((torch.compile(fn, backend=device)(*args) - fn(*args)).abs().max().item())
    torch._dynamo.reset()
    try:
        torch.compile(fn, backend=without)(*args)
    except Exception as error:
        refused.append("no kernel for" in str(error))
    for level in ("ATen", "Core ATen", "Inductor"):
        needed = set(operations(levels(fn, *args)[level]))
        lacking = ", ".join(sorted(needed - KERNELS.keys()))
        rows.append((f"{fn.__name__}, {level}", len(needed), lacking))

tclab.show(
    tclab.Table(
        title="What the device lacks",
        name="lacks",
        columns=("function and level", "operators", "not on the device"),
        rows=rows,
    )
)
missing = {name: names for name, _, names in rows}
# claim: it-runs-both
assert missing["mlp, Inductor"] == missing["attention, Inductor"] == ""
# claim: and-gives-eagers-results
assert max(off) < 1e-5
# claim: without-decompositions-it-refuses
assert refused == [True, True]
# claim: an-operator-for-each-function-above
assert "aten.gelu" in missing["mlp, ATen"] and "aten.silu" in missing["attention, ATen"]
# claim: core-aten-is-not-low-enough
assert "aten.gelu" in missing["mlp, Core ATen"] and "aten._softmax" in missing["mlp, Core ATen"]
