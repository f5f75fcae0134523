"""What `batch_invariant` changes in kernels for a GPU, by the number of rows.

The kernels are made for an H200 that need not be here. A layer norm of short rows is one kernel,
which keeps a row in registers; how many warps share a row decides the order of its sum.
"""
# tclab: needs=triton timeout=180

import torch
from torch._inductor import config

import tclab


def norm(x):
    return torch.nn.functional.layer_norm(x, x.shape[-1:])


def long_sum(x):
    return x.sum(-1)


def launches(function, shape, on):
    """The launch configuration of each kernel."""
    options = {"batch_invariant": on} if hasattr(config, "batch_invariant") else {}
    c = tclab.capture(function, target="h200", options=options)(torch.empty(shape))
    return tuple(str(kernel.configuration) for kernel in c.compile_kernels())


FEW, MANY = 64, 8192
rows, found = [], {}
for on in (False, True):
    for number in (FEW, MANY):
        found[norm, number, on] = launches(norm, (number, 1024), on)
    rows.append(("layer norm of 1,024; few: 64", on, *(found[norm, n, on] for n in (FEW, MANY))))
for number in (1, MANY):
    found[long_sum, number] = launches(long_sum, (number, 65536), True)
rows.append(("sum of 65,536; few: 1", True, found[long_sum, 1], found[long_sum, MANY]))
# claim: by-default-the-rows-decide-the-warps
assert found[norm, FEW, False] != found[norm, MANY, False]
if tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 13):
    # claim: batch-invariant-they-do-not, torch >= 2.13
    assert found[norm, FEW, True] == found[norm, MANY, True]
if tuple(map(int, torch.__version__.split(".")[:2])) == (2, 13):
    # claim: a-long-sum-of-one-row-is-cut-in-two-all-the-same, torch == 2.13
    assert [len(found[long_sum, number]) for number in (1, MANY)] == [2, 1]
columns = ("function", "batch_invariant", "few rows", "8,192 rows")
shown = [(name, on, *("; ".join(each) for each in both)) for name, on, *both in rows]
tclab.show(tclab.Table("How kernels are launched on an H200", "launches", columns, shown))
