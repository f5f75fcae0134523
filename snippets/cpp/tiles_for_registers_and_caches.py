"""Which loops Inductor tiles on a CPU: a transpose into registers, a product into caches.

A chain of pointwise operations, a sum with a transposed tensor, and a layer whose product Inductor
writes itself (frozen, with its own template). The layer is compiled a second time as for a
processor that says its first cache is an eighth as large.
"""
# tclab: needs=cxx timeout=180

import re
from unittest import mock

import torch
from torch._inductor import config

import tclab

torch.set_grad_enabled(False)
torch.set_num_threads(1)  # loops without OpenMP's lines


def chain(x, y):
    return torch.relu(x + y) * 2 - x


def with_transposed(x, y):
    return x.t() + y


def steps(code):
    """The steps of the loops of a kernel, in order; 1 where one counts by one."""
    found = re.findall(
        r"for\s*\(\w+ \w+=[^;]*;[^;]*; \w+\s*(?:\+=static_cast<int64_t>\((\d+)L?|\+\+)", code
    )
    return [int(step or 1) for step in found]


torch.manual_seed(0)
x, y = torch.randn(512, 512), torch.randn(512, 512)
rows, code = [], {}
for f in (chain, with_transposed):
    c = tclab.capture(f)(x, y)
    torch.testing.assert_close(c.result, f(x, y))
    code[f.__name__] = c.kernels[0].code
    rows.append((f.__name__, " · ".join(map(str, steps(c.kernels[0].code)))))
tclab.show(tclab.Table("Steps of the loops", "steps", ("function", "elements a step"), rows))
tclab.show(c.kernels[0], name="transposed")

CACHES = dict(torch.cpu.get_capabilities())
layer, rows = torch.nn.Linear(512, 512).eval(), []
OWN = {"freezing": True, "max_autotune": True, "max_autotune_gemm_backends": "CPP"}
for name, part in (("as it is", 1), ("an eighth", 8)):
    torch._dynamo.reset()
    told = CACHES | {"l1d_cache_size": CACHES["l1d_cache_size"] // part}
    with config.patch(OWN), mock.patch("torch.cpu.get_capabilities", lambda told=told: told):
        c = tclab.capture(layer)(x)
    torch.testing.assert_close(c.result, layer(x), rtol=1e-4, atol=1e-4)
    product = next(k.code for k in c.kernels if "Kc_blocks" in k.code)
    sizes = {n: int(v) for n, v in re.findall(r"int64_t (\w+) = (\d+);", product)}
    depth = sizes["Kc_blocks"] * sizes.get("Kr", 1)
    weights = 4 * depth * sizes["Nc_blocks"] * sizes["Nr"]
    tile = 4 * sizes["Mr"] * sizes["Nr"]
    rows.append((name, told["l1d_cache_size"], depth, weights, tile))
columns = ("first cache", "its size", "depth of a block", "weights of a block", "sums in registers")
units = ("", "B", "", "B", "B")
tclab.show(tclab.Table("A product that Inductor writes", "product", columns, rows, units=units))

width = steps(code["chain"])[-1]
# claim: a-chain-is-not-tiled
assert len(steps(code["chain"])) == 1 and width > 1, steps(code["chain"])
# claim: a-transpose-is-a-square-of-a-register
assert steps(code["with_transposed"])[:2] == [width, width]
assert "transpose_mxn" in code["with_transposed"] and "transpose_mxn" not in code["chain"]
# claim: the-block-fits-the-first-cache
assert all(weights <= size for _, size, _, weights, _ in rows), rows
# claim: a-smaller-cache-makes-smaller-blocks
assert rows[1][3] < rows[0][3], rows
# claim: the-sums-stay-in-registers
assert rows[0][4] == rows[1][4] <= 32 * width * 4, rows
