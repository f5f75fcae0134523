"""Matmul, bias, ReLU on a CPU: one library call and one generated kernel.

A pass merges the matmul and the bias into `addmm`, which a library computes. The weight is an
input of the function: the ReLU gets a kernel of its own and reads the whole product again.
`max_autotune` alone changes nothing about that here.
"""

import torch

import tclab


def f(x, w, b):
    return torch.relu(x @ w + b)


def longer(x, w, b):
    return torch.sigmoid(torch.relu(x @ w + b)) * 2.0 + 1.0


x, w, b = torch.randn(128, 64), torch.randn(64, 256), torch.randn(256)
rows = []
for g, options in ((f, {}), (f, {"max_autotune": True}), (longer, {})):
    c = tclab.capture(g, options=options)(x, w, b)
    assert torch.allclose(c.result, g(x, w, b), atol=1e-4)
    libraries = [k for k in c.kernels if k.category == "extern"]
    generated = [k for k in c.kernels if k.category != "extern"]
    chosen = ", ".join(options) or "none"
    names = ("; ".join(k.kernel_name for k in several) for several in (libraries, generated))
    rows.append((g.__name__, chosen, *names))
    if g is f and not options:
        tclab.show(c.post_grad[0], name="graph")
        tclab.show(c.wrapper[0], name="wrapper")
        tclab.show(libraries + generated)

# claim: a-library-computes-product-and-bias
assert rows[0][2] == "extern_kernels.addmm"
# claim: the-relu-is-a-kernel-of-its-own
assert rows[0][3].startswith("cpp_fused_relu") and ";" not in rows[0][3]
# claim: max-autotune-alone-changes-nothing-here
assert rows[1][2].endswith("addmm") and rows[1][3] == rows[0][3]  # of two calls, the quicker
# claim: more-pointwise-stays-one-kernel
assert rows[2][2] == "extern_kernels.addmm" and ";" not in rows[2][3]

columns = ("function", "options", "library", "generated")
tclab.show(tclab.Table(title="Who computes what", columns=columns, rows=rows), name="who")
