"""Softmax: one persistent reduction, forward and backward.

A row of 1000 fits in one program, so the kernel loads it once and keeps it in registers: the
maximum, the sum and the division all work on that one load. That is what *persistent* means.
The backward loads the gradient and the saved output, once each.
"""
# tclab: needs=cuda timeout=120

import re

import torch
from _launches import launched, relative_error

import tclab


def f(x):
    return torch.softmax(x, dim=-1)


x = torch.randn(4096, 1000, device="cuda", requires_grad=True)  # [rows, columns]

c = tclab.capture(f, backward=True)(x)
forward, backward = c.kernels
for kernel, loads in ((forward, 1), (backward, 2)):
    assert kernel.category == "persistent_reduction", kernel.category
    assert kernel.code.count("tl.load(") == loads
    assert not re.search(r"^\s+for \w+ in ", kernel.code, re.MULTILINE)  # no loop over the row

compiled, exact = torch.compile(f), x.detach().double().requires_grad_()
upstream = torch.randn_like(x)
out, expected = compiled(x), f(exact)
(grad,) = torch.autograd.grad(out, x, upstream)
(exact_grad,) = torch.autograd.grad(expected, exact, upstream.double())
assert relative_error(out, expected) < 1e-6
assert relative_error(grad, exact_grad) < 1e-5
assert len(launched(compiled, x)) == 1

tclab.show(forward, title="Softmax, forward", name="forward")
tclab.show(backward, title="Softmax, backward", name="backward")
tclab.show(c.backward[0], title="The backward graph", name="backward-graph")
