"""Matmul, bias, ReLU: one library call and one generated kernel.

A pass merges the matmul and the bias into `addmm`, which a library computes. Inductor cannot
reach into a library: the ReLU gets a kernel of its own and reads the whole product again. On the
CPU `max_autotune` changes nothing about that.
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
    assert [k.kernel_name for k in libraries] == ["extern_kernels.addmm"]
    assert len(generated) == 1  # however many pointwise operations follow
    chosen = ", ".join(options) or "none"
    rows.append((g.__name__, chosen, libraries[0].kernel_name, generated[0].kernel_name))
    if g is f and not options:
        tclab.show(c.post_grad[0], name="graph")
        tclab.show(c.wrapper[0], name="wrapper")
        tclab.show(libraries + generated)

columns = ("function", "options", "library", "generated")
tclab.show(tclab.Table(title="Who computes what", columns=columns, rows=rows), name="who")
