"""The last program is masked, where there is a rest.

One pointwise chain for an H200 and two sizes. 4,096,000 elements are a multiple of every block that
Inductor tries, so the mask is constant: true. 1,000,003 are not: the last program has fewer
elements than the others, and the mask compares.
"""
# tclab: needs=triton timeout=240

import re

import torch
import torch.nn.functional as F

import tclab


def f(x, b):
    return F.gelu(x + b) * x


rows, kernels = [], {}
for size in (4_096_000, 1_000_003):
    x, b = torch.randn(size), torch.randn(1)
    (kernel,) = tclab.capture(f, target="h200", dynamic=False)(x, b).kernels
    kernels[size] = kernel
    mask = re.search(r"^\s+xmask = (.*)$", kernel.code, re.MULTILINE)
    loads, stores = kernel.code.count("tl.load("), kernel.code.count("tl.store(")
    rows.append((f"{size:,d}", kernel.category, mask[1] if mask else "", loads, stores))

# claim: a-rest-is-masked
assert rows[1][2] == "xindex < xnumel" and "xmask)" in kernels[1_000_003].code
# claim: without-a-rest-the-mask-is-constant
assert "True" in rows[0][2]
# claim: one-load-an-input-one-store
assert all(row[1] == "pointwise" and row[3:] == (2, 1) for row in rows)

columns = ("elements", "category", "xmask", "loads", "stores")
tclab.show(tclab.Table("Masks", "masks", columns, rows))
tclab.show(kernels[1_000_003], title="The kernel for 1,000,003 elements", name="kernel")
