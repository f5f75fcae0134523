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


def int8_scaled_first(x, numbers, scales):
    return torch.relu(linear(x, numbers.to(x.dtype) * scales[:, None]))


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
CALLS = [(fn, weight, shape) for fn, weight in ((int8, bytes8), (int4, bytes4))
         for shape in ((1,), (64,), (1, 64))]  # fmt: skip
CALLS += [
    (int8_scaled_first, bytes8, (1, 64)),
    (int8_as_a_sum, bytes8, (1,)),
    (int4_as_a_sum, bytes4, (1,)),
]
rows, kernels = [], {}
for fn, weight, shape in CALLS:
    x = torch.randn(*shape, IN, dtype=torch.bfloat16)
    c = tclab.capture(fn, target="h200")(x, *weight)
    made = re.findall(r"empty_strided_cuda\(\(([\d, ]+)\), ", c.wrapper[0].code)
    largest = max((prod(int(n) for n in re.findall(r"\d+", one)) for one in made), default=0)
    name = fn.__name__.replace("_", " ")
    kernels[fn, shape] = c.kernels
    rows.append((name, "×".join(map(str, x.shape)), len(c.kernels), 2 * largest / 2**20,
                 ", ".join(k.kernel_name if k.category == "extern" else k.category
                           for k in c.kernels)))  # fmt: skip
tclab.show(tclab.Table(
    title="A layer of 4,096 by 2,048 on an H200", name="layers",
    columns=("weight", "x", "kernels", "written out", "in their order"),
    units=("", "", "", "MiB", ""), formats=("", "", "d", ".2f", ""), rows=rows,
))  # fmt: skip
tclab.show(kernels[int4_as_a_sum, (1,)][0], name="kernel")

whole = 2 * OUT * IN / 2**20
written = {(fn, shape): row[3] for (fn, _, shape), row in zip(CALLS, rows)}
out = [(int8, (1,)), (int8, (64,)), (int4, (1,)), (int4, (64,)), (int4, (1, 64))]
# claim: a-product-of-matrices-gets-the-weight-written-out
assert all(written[call] == whole for call in out), rows
# claim: the-conversion-is-a-kernel-of-its-own
assert all(kernels[call][0].category == "pointwise" and kernels[call][1].category == "extern"
           for call in out), rows  # fmt: skip
# claim: the-scale-of-a-row-fuses-with-what-follows
assert all("relu" in kernels[int8, shape][-1].kernel_name for shape in ((1,), (64,), (1, 64)))
# claim: with-a-third-dimension-a-pattern-fits
assert kernels[int8, (1, 64)][0].kernel_name.endswith("_weight_int8pack_mm"), rows
assert written[int8, (1, 64)] < whole / 10, rows
# claim: scaled-first-it-does-not-fit
assert written[int8_scaled_first, (1, 64)] == whole, rows
assert not any("int8pack" in k.kernel_name for k in kernels[int8_scaled_first, (1, 64)]), rows
# claim: as-a-sum-there-is-no-library-call
assert len(kernels[int8_as_a_sum, (1,)]) == 1, rows
assert all(k.category != "extern" for k in kernels[int4_as_a_sum, (1,)]), rows
# claim: and-no-weight-is-written-out
assert all(written[fn, (1,)] < whole / 100 for fn in (int8_as_a_sum, int4_as_a_sum)), rows
