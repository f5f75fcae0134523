"""A tensor made without `device=` counts as made on the target, a single number aside.

Three ways to say the same. On a machine without a GPU write no device at all, or write
`device="cuda"` inside the function: it is taken to mean the target. The kernels are the same.
A single number is on the CPU where nothing is said, as it is in a program for a GPU.
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


def on_the_cpu(x):
    return x + torch.arange(x.shape[-1], device="cpu")


def is_refused(fn):
    try:
        tclab.capture(fn, target="h200")(x)
    except torch._dynamo.exc.TorchRuntimeError as error:
        return "device" in str(error)
    return False


def number(x):
    return torch.tensor(3).to(x.device)


def stacked(x):  # of two devices, where the number is on the CPU
    return torch.stack([torch.tensor(0.0), x.sum()])


x = torch.randn(64, 1024)  # on the CPU
kernels = {f.__name__: tclab.capture(f, target="h200")(x).kernels for f in (unsaid, said, followed)}
codes = {name: tuple(k.code for k in several) for name, several in kernels.items()}
# claim: three-ways-one-kernel
assert len(set(codes.values())) == 1
# claim: cpu-is-the-cpu
assert is_refused(on_the_cpu)
copied, together = (tclab.capture(f, target="h200")(x).kernels for f in (number, stacked))
# claim: a-number-is-made-on-the-cpu
assert [kernel.kernel_name for kernel in copied] == ["triton_poi_fused__to_copy_0"]
# claim: where-that-fails-it-is-on-the-target
assert any("stack" in kernel.kernel_name for kernel in together)
tclab.show(tclab.Table(
    title="One kernel, however the device is said", columns=("function", "kernels"), name="kernels",
    rows=[(name, ", ".join(k.kernel_name for k in several)) for name, several in kernels.items()],
))  # fmt: skip
tclab.show(kernels["unsaid"][0], name="kernel")
