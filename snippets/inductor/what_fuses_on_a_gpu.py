"""What fuses depends on the device, the size and the options: three functions for an H200.

A whole sum that fits one program leaves its elements in registers, so the product with it is in
the same kernel. A longer one is split, and its parts are added by another kernel, unless
cooperative reductions are on: then programs wait for one another. Sums along rows and along columns
share a kernel, a mix-order reduction, where there are many rows; PyTorch's own sum adds its partial
sums of the columns. On a CPU each case is two loops. A sort of rows of 64 is in the kernel of what
stands around it; of longer rows, and on a CPU, it is a call.
"""
# tclab: needs=triton timeout=240

import torch
from _ir import nodes

import tclab


def whole_then_each(x):
    return x * x.sum()


def row_and_column_sums(x):
    return x.sum(0), x.sum(1)


COOPERATIVE = {"triton.cooperative_reductions": True}
CASES = [
    (whole_then_each, (1024,), {}),
    (whole_then_each, (65536,), {}),
    (whole_then_each, (65536,), COOPERATIVE),
    (row_and_column_sums, (512, 512), {}),
    (row_and_column_sums, (8192, 768), {}),
]
rows, made, added_after = [], {}, []
for f, shape, options in CASES:
    c = tclab.capture(f, dynamic=False, target="h200", options=options)(torch.randn(shape))
    made[f.__name__, shape, bool(options)] = len(c.kernels)
    added_after.append(c.wrapper[0].code.count(".sum(dim=0"))
    chosen = ", ".join(options) or "none"
    kinds = ", ".join(kernel.category for kernel in c.kernels)
    on_a_cpu = tclab.capture(f, dynamic=False, options=options)(torch.randn(shape))
    loops = len(nodes(on_a_cpu.ir[0]))
    rows.append((f.__name__, str(list(shape)), chosen, loops, len(c.kernels), kinds))



def sort_between(x):
    return torch.cos(torch.sin(x).sort().values)


sorts = []
for columns in (64, 4096):
    c = tclab.capture(sort_between, dynamic=False, target="h200")(torch.randn(8, columns))
    sorts.append([kernel.category for kernel in c.kernels])
# claim: a-sort-of-short-rows-is-no-call
assert sorts == [["persistent_reduction"], ["pointwise", "extern", "pointwise"]]
# claim: a-short-sum-and-its-use-are-one-kernel
assert made["whole_then_each", (1024,), False] == 1
# claim: a-long-sum-is-split
assert made["whole_then_each", (65536,), False] == 3
# claim: cooperative-reductions-make-one
assert made["whole_then_each", (65536,), True] == 1
# claim: few-rows-do-not-mix
assert made["row_and_column_sums", (512, 512), False] == 3
# claim: many-rows-mix
assert made["row_and_column_sums", (8192, 768), False] == 1
# claim: its-partial-sums-are-added-by-pytorch
assert added_after == [0, 0, 0, 0, 1]
# claim: on-a-cpu-each-is-two-loops
assert all(row[3] == 2 for row in rows)

columns = ("function", "shape", "options", "loops on a CPU", "kernels for an H200", "categories")
tclab.show(tclab.Table("Kernels for an H200", "kernels", columns, rows))
