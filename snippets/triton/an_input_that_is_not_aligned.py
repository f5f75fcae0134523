"""An input that is not aligned, as Inductor sees it.

`x[1:]` of a float32 tensor starts 4 bytes after a multiple of 16. Inductor looks at the tensors of
the first call, and tells Triton which arguments divide by 16: an unaligned one is left out, and
its loads are narrow. The other tensor keeps its wide ones.
"""
# tclab: needs=triton timeout=240

import re
from collections import Counter

import torch

import tclab


def f(x, y):
    return x * 2.0 + y


storage, y = torch.randn(1_048_577), torch.randn(1_048_576)
rows, found = [], {}
for name, x in (("aligned", storage[:-1]), ("x[1:]", storage[1:])):
    c = tclab.capture(f, target="h200", dynamic=False)(x, y)
    (kernel,) = c.kernels
    sass = c.stages(kernel.kernel_name)["sass"].code
    loads = Counter(re.findall(r"\bLDG\.E(?:\.EF|\.EL)*(?:\.\d+)?", sass))
    wide = sum(n for load, n in loads.items() if load.endswith(".128"))
    found[name] = (kernel.code.count("tt.divisibility"), wide, sum(loads.values()) - wide)
    rows.append((name, *found[name]))

aligned, sliced = found["aligned"], found["x[1:]"]
# claim: an-unaligned-input-is-left-out
assert sliced[0] == aligned[0] - 1
# claim: its-loads-are-narrow
assert aligned[1:] == (4, 0) and sliced[1:] == (2, 8)

columns = ("x", "arguments that divide by 16", "16-byte loads", "narrower loads")
tclab.show(tclab.Table("Loads in the machine code", "loads", columns, rows))
