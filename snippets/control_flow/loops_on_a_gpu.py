"""The same operators for an H200: who decides, and what is a kernel."""
# tclab: needs=triton timeout=180

import torch
from torch._higher_order_ops import associative_scan, while_loop

import tclab


def choose(x):
    return torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,))


def doubled(x):
    return while_loop(lambda x: x.sum() < 100, lambda x: (x * 2,), (x,))[0]


def products(x):
    return associative_scan(lambda a, b: a * b, x, dim=0, combine_mode="pointwise")


def on_a_cpu():
    try:
        torch.compile(products, fullgraph=True)(x)
    except Exception as error:
        return str(error)


torch.set_grad_enabled(False)
x = torch.rand(64, 4)
chosen, loop, scan = (tclab.capture(fn, target="h200")(x) for fn in (choose, doubled, products))
(kernel,) = scan.kernels
# claim: the-host-reads-the-predicate
assert ".item()" in chosen.wrapper[0].code and ".item()" not in scan.wrapper[0].code
# claim: the-host-runs-the-loop
assert "while should_loop:" in loop.wrapper[0].code
# claim: each-branch-has-its-kernel
assert len(chosen.kernels) == 3
# claim: an-associative-scan-is-one-kernel
assert "tl.associative_scan" in kernel.code
# claim: pointwise-wants-a-gpu
assert "combine_mode='pointwise'" in on_a_cpu()
tclab.show(kernel, name="kernel")
