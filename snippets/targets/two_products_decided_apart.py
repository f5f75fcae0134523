"""Two products that only timing decides, and a kernel that reads what both left.

Both have 30 columns, which Inductor pads to 32 if that is faster. Their sum is one kernel, which
reads each product with or without two columns of padding. From PyTorch 2.14 on a product that is
not padded adds the other itself.
"""
# tclab: needs=triton

import torch

import tclab
from tclab.errors import BadRequest


def both(x, v, y, w):
    return torch.relu(x @ v + y @ w)


def answers(kernel):
    """The answers a kernel needs, by the product: its rows and columns."""
    return {each.question.operator[-8:]: each.answer for each in kernel.facts.open}


x, v = torch.randn(8, 64), torch.randn(64, 30)
y, w = torch.randn(8, 48), torch.randn(48, 30)
c = tclab.capture(both, target="h200", assume={"pad": "both"})(x, v, y, w)
sums = [kernel for kernel in c.kernels if "relu" in kernel.kernel_name]
tclab.show(tclab.Table(
    title="The kernel that adds both", name="sums", columns=("kernel", "64 rows", "48 rows"),
    rows=[(k.kernel_name, *(answers(k).get(p, "") for p in ("[64, 30]", "[48, 30]")))
          for k in sums],
))  # fmt: skip

version = tuple(map(int, torch.__version__.split(".")[:2]))
combinations = {tuple(sorted(answers(kernel).items())) for kernel in sums}
if version < (2, 14):
    # claim: each-combination, torch < 2.14
    assert len(combinations) == len(sums) == 4
else:
    adding = [set(answers(kernel).values()) for kernel in sums if "_add_" in kernel.kernel_name]
    # claim: a-product-without-padding-adds-the-other, torch >= 2.14
    assert adding == [{"yes"}] and any("addmm" in kernel.kernel_name for kernel in c.kernels)

fixed = tclab.capture(both, target="h200", assume={"pad: mm of [8, 64]": "yes"})(x, v, y, w)
# claim: one-product-assumed
assert [question.operator for question in fixed.timed] == ["mm of [8, 48] @ [48, 30]"]
step = ""
try:
    tclab.capture(both, target="h200", assume={"pad: mm of [9, 9]": "yes"})(x, v, y, w)
except BadRequest as error:
    step = error.next_step
# claim: a-name-of-no-product-is-an-error
assert step.count("pad: mm of") == 2 and all(f"{r}] @" in step for r in ("[8, 64", "[8, 48"))


def alike(x, v, w):
    return torch.relu(x @ v) + (x @ w).sin()


twice = tclab.capture(alike, target="h200", assume={"pad": "both"})(x, v, torch.randn(64, 30))
ways = {answer for kernel in twice.kernels for answer in answers(kernel).values()}
# claim: one-key-one-answer
assert len({question.key for question in twice.timed}) == 1 and ways == {"no", "yes"}
