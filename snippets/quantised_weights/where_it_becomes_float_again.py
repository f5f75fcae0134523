"""A layer with a weight of int8 or int4 for an H200: the kernels, and the weight between them.

4,096 by 2,048, x in bfloat16. `written out` is the largest tensor that the output code allocates:
where it has the weight's size, the whole weight is written in bfloat16 and read again.
"""
# tclab: needs=triton timeout=240

import re
from math import prod

import torch
from torch.nn.functional import linear

import tclab

OUT, IN, GROUP = 4096, 2048, 128


def int8(x, numbers, scales):
    return torch.relu(linear(x, numbers.to(x.dtype)) * scales)


def int8_as_a_sum(x, numbers, scales):
    """For one row of x: a product and a sum, which Inductor writes itself."""
    return torch.relu((x * numbers.to(x.dtype)).sum(-1) * scales)


def unpacked(pairs, scales):
    """Two numbers of four bits to a byte, a scale for each group of a row."""
    low, high = (pairs & 15).to(torch.int8) - 8, (pairs >> 4).to(torch.int8) - 8
    numbers = torch.stack([low, high], -1).view(OUT, IN // GROUP, GROUP)
    return (numbers.to(scales.dtype) * scales[..., None]).view(OUT, IN)


def int4(x, pairs, scales):
    return torch.relu(linear(x, unpacked(pairs, scales)))


def int4_as_a_sum(x, pairs, scales):
    return torch.relu((x * unpacked(pairs, scales)).sum(-1))


torch.manual_seed(0)
torch.set_grad_enabled(False)
bytes8 = torch.randint(-127, 128, (OUT, IN), dtype=torch.int8), torch.rand(OUT).bfloat16()
bytes4 = (torch.randint(0, 256, (OUT, IN // 2), dtype=torch.uint8),
          torch.rand(OUT, IN // GROUP).bfloat16())  # fmt: skip
CALLS = [(int8, bytes8, 1), (int8, bytes8, 64), (int8_as_a_sum, bytes8, 1),
         (int4, bytes4, 1), (int4, bytes4, 64), (int4_as_a_sum, bytes4, 1)]  # fmt: skip
rows, kernels = [], {}
for fn, weight, batch in CALLS:
    x = torch.randn(batch, IN, dtype=torch.bfloat16)
    c = tclab.capture(fn, target="h200")(x, *weight)
    made = re.findall(r"empty_strided_cuda\(\(([\d, ]+)\), ", c.wrapper[0].code)
    largest = max(prod(int(n) for n in re.findall(r"\d+", shape)) for shape in made)
    kernels[fn, batch] = c.kernels
    rows.append((fn.__name__.replace("_", " "), batch, len(c.kernels), 2 * largest / 2**20,
                 ", ".join(k.kernel_name for k in c.kernels)))  # fmt: skip
tclab.show(tclab.Table(
    title="A layer of 4,096 by 2,048 on an H200", name="layers",
    columns=("weight", "rows of x", "kernels", "written out", "their names"),
    units=("", "", "", "MiB", ""), formats=("", "d", "d", ".2f", ""), rows=rows,
))  # fmt: skip
tclab.show(kernels[int4_as_a_sum, 1][0], name="kernel")

whole = 2 * OUT * IN / 2**20
# claim: a-product-of-matrices-gets-the-weight-written-out
assert all(written == whole for name, _, _, written, _ in rows if "sum" not in name), rows
# claim: the-conversion-is-a-kernel-of-its-own
assert all("mm" in several[1].kernel_name and several[0].category == "pointwise"
           for (fn, _), several in kernels.items() if fn in (int8, int4))  # fmt: skip
# claim: the-scale-of-a-row-fuses-with-what-follows
assert all("relu" in kernels[int8, n][2].kernel_name for n in (1, 64))
# claim: as-a-sum-there-is-no-library-call
assert len(kernels[int8_as_a_sum, 1]) == 1, rows
assert all(k.category != "extern" for k in kernels[int4_as_a_sum, 1]), rows
# claim: and-no-weight-is-written-out
assert all(written < whole / 100 for name, _, _, written, _ in rows if "sum" in name), rows
