"""The kernel with a symbolic size, next to the static one.

One function for a thousand elements, compiled with the size as a number and as a symbol: for this
CPU, and for an H200 that is not here. The number is written into the code. The symbol is an
argument.
"""
# tclab: needs=triton,cxx

import torch

import tclab


def f(x):
    return (x.sin() + 1) * 2


x = torch.randn(1000)
kernels = {}
for target in (None, "h200"):
    for dynamic in (False, True):
        c = tclab.capture(f, target=target, dynamic=dynamic)(x)
        (kernels[target, dynamic],) = c.kernels

static, symbolic = kernels[None, False].code, kernels[None, True].code
# claim: cpu-a-number-in-the-code
assert "1000L" in static and "1000" not in symbolic
# claim: cpu-an-argument
assert "const int64_t ks0" in symbolic and "ks0" not in static
static, symbolic = kernels["h200", False].code, kernels["h200", True].code
# claim: gpu-a-number-in-the-code
assert "xnumel = 1000" in static
# claim: gpu-an-argument
assert "xnumel = " not in symbolic and "xnumel, " in symbolic

for (target, dynamic), kernel in kernels.items():
    how = f"{'symbolic' if dynamic else 'static'}, {target or 'CPU'}"
    tclab.show(kernel, title=f"A kernel: {how}", name=how)
