"""The same function on a GPU: one Triton kernel, and its speed.

Eager PyTorch launches three kernels and sends two intermediate tensors through memory:
read x, write a; read a, write b; read b, read x, write the result. That is seven passes
over the tensor. The fused kernel makes two: read x, write the result. The table first
checks the results against float64, then times both next to a plain copy of the same tensor,
which is as fast as this card's memory goes.
"""
# tclab: needs=cuda,triton alone=true timeout=300 memory=16384

import torch
from triton.testing import do_bench

import tclab


def gate(x, bias):
    opened = torch.sigmoid(x + bias)
    return opened * x


torch.manual_seed(0)
x = torch.randn(16384, 8192, device="cuda", dtype=torch.bfloat16)
bias = torch.randn(8192, device="cuda", dtype=torch.bfloat16)

c = tclab.capture(gate)(x, bias)
assert len(c.graphs) == 1 and len(c.kernels) == 1
tclab.show(c.kernels[0], name="kernel")

compiled = torch.compile(gate)
rows = slice(0, 512)  # float64 of the whole tensor would be 1 GiB each
exact = gate(x[rows].double(), bias.double())
errors = {}
for label, fn in (("eager", gate), ("compiled", compiled)):
    errors[label] = (fn(x, bias)[rows].double() - exact).square().mean().sqrt().item()
assert errors["compiled"] <= errors["eager"]  # one rounding at the end instead of three

out = torch.empty_like(x)
moved = 2 * x.nbytes  # bytes that must move: x in, the result out
ms = {
    "copy": do_bench(lambda: out.copy_(x), quantiles=[0.5, 0.2, 0.8]),
    "eager": do_bench(lambda: gate(x, bias), quantiles=[0.5, 0.2, 0.8]),
    "compiled": do_bench(lambda: compiled(x, bias), quantiles=[0.5, 0.2, 0.8]),
}
rows = [
    (name, t[0], t[1], t[2], moved / t[0] / 1e9, 100 * ms["copy"][0] / t[0],
     ms["eager"][0] / t[0], errors.get(name))
    for name, t in ms.items()
]  # fmt: skip
tclab.show(tclab.Table(
    title="Eager, compiled, and a copy of the same tensor", name="speed",
    columns=("", "median", "20 %", "80 %", "traffic", "of copy", "speed-up", "error"),
    units=("", "ms", "ms", "ms", "TB/s", "%", "×", ""),
    formats=("", ".3f", ".3f", ".3f", ".2f", ".0f", ".2f", ".2e"),
    rows=rows,
    caption="16384 × 8192 bfloat16. Traffic: the tensor once in and once out, over the median. "
            "Speed-up: against eager. Error: RMSE against float64, over 512 rows.",
))  # fmt: skip
