"""Layouts: a transpose costs nothing, a copy is a loop, an output keeps eager's strides.

In the IR a transpose is only an index: the loop reads `i + 64*j` where it read `64*i + j`. Memory
order is settled when a buffer is made. What a caller can see, the strides of the results, is the
same as in eager mode.
"""

import re

import torch

import tclab


def transposed(x):
    return x.t() + 1.0


def copied(x):
    return x.t().contiguous() + 1.0


def both(x):
    return x + x.t()  # one operand is read against the grain


x = torch.randn(64, 128)[:, :64].clone()  # [64, 64], strides (64, 1)
rows = []
for f in (transposed, copied, both):
    c = tclab.capture(f)(x)
    assert c.result.stride() == f(x).stride() and torch.equal(c.result, f(x))
    ir = c.ir[0].code
    assert len(c.kernels) == 1
    indices = re.findall(r"^ +index\d+ = (.*)$", ir, re.MULTILINE)
    rows.append((f.__name__, str(c.result.stride()), len(c.kernels), "; ".join(indices)))
    if f is both:
        tclab.show(c.ir[0], title="x + x.t()", name="both")
        tclab.show(c.kernels[0], name="kernel")

results = {name: (stride, kernels) for name, stride, kernels, _ in rows}
# claim: results-have-eagers-strides
assert results["transposed"][0] == "(1, 64)" and results["copied"][0] == "(64, 1)"
# claim: a-transpose-is-an-index
assert "64*" in rows[2][3] and results["both"][1] == 1
# claim: a-copy-fuses-too
assert results["copied"][1] == 1
columns = ("function", "strides of the result", "kernels", "index expressions in the loop")
tclab.show(tclab.Table(title="Strides in, strides out", columns=columns, rows=rows))
