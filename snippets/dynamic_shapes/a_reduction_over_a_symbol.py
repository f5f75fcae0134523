"""What a symbol can cost: a reduction over a size that is not known.

A softmax over rows of a thousand, for an H200. With the length as a number Inductor writes a
persistent reduction: a program holds its whole row. With a symbol it cannot know that the row fits,
and writes a loop that reads the row more than once. Only the number of rows as a symbol costs
nothing of this.
"""
# tclab: needs=triton

import torch
from torch._dynamo import mark_dynamic

import tclab


def f(x):
    return x.softmax(-1)


def kernel(*dims):
    """The kernel for an H200 with these dimensions as symbols."""
    x = torch.randn(64, 1000)
    for dim in dims:
        mark_dynamic(x, dim)
    (only,) = tclab.capture(f, target="h200")(x).kernels
    return only


made = {"none": kernel(), "rows": kernel(0), "row length": kernel(1)}
reads = {name: k.code.count("tl.load(") for name, k in made.items()}
# claim: a-number-makes-it-persistent
assert made["none"].category == "persistent_reduction" and reads["none"] == 1
# claim: symbolic-rows-keep-it
assert made["rows"].category == "persistent_reduction" and reads["rows"] == 1
# claim: a-symbolic-length-makes-a-loop
assert made["row length"].category == "reduction" and "for r0_offset in" in made["row length"].code
# claim: which-reads-the-row-again
assert reads["row length"] > 1

columns = ("symbols", "kind of kernel", "reads of the row")
rows = [(name, k.category, reads[name]) for name, k in made.items()]
tclab.show(tclab.Table("Softmax, 64 rows of 1000, for an H200", "kernels", columns, rows))
tclab.show(made["row length"], title="With a symbolic row length", name="symbolic-row-length")
