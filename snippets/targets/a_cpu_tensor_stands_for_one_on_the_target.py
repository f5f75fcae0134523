"""A tensor made without `device=` counts as made on the target.

Three ways to say the same. On a machine without a GPU write no device at all, or write
`device="cuda"` inside the function: it is taken to mean the target. The kernels are the same.
"""
# tclab: needs=triton timeout=180

import torch

import tclab


def unsaid(x):
    return x + torch.arange(x.shape[-1])


def said(x):
    return x + torch.arange(x.shape[-1], device="cuda")


def followed(x):
    return x + torch.arange(x.shape[-1], device=x.device)


x = torch.randn(64, 1024)  # on the CPU
kernels = {f.__name__: tclab.capture(f, target="h200")(x).kernels for f in (unsaid, said, followed)}
codes = {name: tuple(k.code for k in several) for name, several in kernels.items()}
# claim: three-ways-one-kernel
assert len(set(codes.values())) == 1
tclab.show(tclab.Table(
    title="One kernel, however the device is said", columns=("function", "kernels"), name="kernels",
    rows=[(name, ", ".join(k.kernel_name for k in several)) for name, several in kernels.items()],
))  # fmt: skip
tclab.show(kernels["unsaid"][0], name="kernel")
