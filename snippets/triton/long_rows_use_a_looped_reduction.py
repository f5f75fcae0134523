"""A row too long for one program is reduced in a loop.

The same softmax, rows of 131,072 instead of 1000. The row no longer fits in registers, so the
kernel walks it `R0_BLOCK` elements at a time: once for maximum and sum together (the *online*
softmax), once more to divide. Two loads of the input where the persistent kernel has one.
"""
# tclab: needs=cuda timeout=120

import re

import torch
from _launches import launched, relative_error

import tclab


def f(x):
    return torch.softmax(x, dim=-1)


short = torch.randn(4096, 1000, device="cuda")  # [rows, columns]
long = torch.randn(512, 131072, device="cuda")

rows, kernels = [], {}
for name, x in {"1000 columns": short, "131,072 columns": long}.items():
    c = tclab.capture(f, dynamic=False)(x)
    (kernel,) = kernels[name] = c.kernels
    loops = len(re.findall(r"^\s+for \w+ in ", kernel.code, re.MULTILINE))
    loads = kernel.code.count("tl.load(")
    launches = len(launched(torch.compile(f, dynamic=False), x))
    rows.append((name, kernel.category, loops, loads, launches))
    assert relative_error(c.result, f(x.double())) < 1e-6

assert [r[1:4] for r in rows] == [("persistent_reduction", 0, 1), ("reduction", 2, 2)], rows
tclab.show(kernels["131,072 columns"][0], title="Softmax over long rows", name="kernel")
tclab.show(
    tclab.Table(
        title="Softmax over short and long rows",
        columns=("row", "category", "loops", "loads in the code", "launches"),
        rows=rows,
    ),
    name="comparison",
)
