"""Frozen weights: the library takes the ReLU in, or Inductor writes the product itself.

A weight that arrives as an input may change from call to call. `freezing`, for a model that is not
trained any more, makes it a constant: it is brought into the library's own order once, and oneDNN
runs the ReLU behind its convolution. With `max_autotune` Inductor's own product in C++ is a
candidate, too; here the only one, so that the page does not depend on a race.
"""
# tclab: needs=cxx timeout=240

import re

import torch
from torch._inductor import config

import tclab


class Product(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(64, 256)

    def forward(self, x):
        return torch.relu(self.linear(x))


class Convolution(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 16, 3)

    def forward(self, x):
        return torch.relu(self.conv(x))


FROZEN = {"freezing": True}
OWN = {"freezing": True, "max_autotune": True, "max_autotune_gemm_backends": "CPP"}


def where_the_relu_is(c):
    """The kernels and library calls that apply the ReLU; others only move data about."""
    inside = re.compile(r"'relu'|clamp_min|maximum")
    library = [k.kernel_name for k in c.kernels if k.category == "extern"]
    calls = [line for line in c.wrapper[0].code.splitlines() if any(n in line for n in library)]
    applied = [n for n in library if any(n in call and inside.search(call) for call in calls)]
    written = [k for k in c.kernels if k.category != "extern"]
    return applied + [k.kernel_name for k in written if inside.search(k.code)], library


torch.manual_seed(0)
rows = []
for module, shape, options in (
    (Product(), (128, 64), {}),
    (Product(), (128, 64), FROZEN),
    (Product(), (128, 64), OWN),
    (Convolution(), (1, 3, 32, 32), {}),
    (Convolution(), (1, 3, 32, 32), FROZEN),
):
    x = torch.randn(shape)
    with torch.no_grad(), config.patch(options):
        c = tclab.capture(module)(x)
        assert torch.allclose(c.result, module(x), atol=1e-4)
    relus, library = where_the_relu_is(c)
    chosen = ", ".join(f"{name}={value}" for name, value in options.items()) or "none"
    rows.append((type(module).__name__, chosen, "; ".join(library), "; ".join(relus)))

with torch.no_grad():
    late = where_the_relu_is(tclab.capture(Product(), options=FROZEN)(torch.randn(128, 64)))

plain, frozen, own, outside, inside = (row[2:] for row in rows)
# claim: an-input-weight-goes-to-the-library
assert plain[0] == "extern_kernels.addmm" and plain[1].startswith("cpp_fused")
# claim: frozen-alone-float32-stays-two
assert "linear" in frozen[0] and frozen[1].startswith("cpp_fused")
# claim: an-option-of-the-call-freezes-nothing
assert late[1] == ["extern_kernels.addmm"]
# claim: a-product-of-its-own-takes-the-relu
assert own[0] == "" and own[1].startswith("cpp_fused")
# claim: without-freezing-the-relu-is-a-kernel
assert outside[0] == "extern_kernels.convolution" and outside[1].startswith("cpp_fused")
# claim: the-library-takes-the-relu
assert inside[0] == inside[1] == "torch.ops.mkldnn._convolution_pointwise.default"

columns = ("module", "options", "library", "the ReLU is in")
tclab.show(tclab.Table("Who computes the product and the ReLU", "who", columns, rows))


@torch.no_grad()
def ignores_a_change(norm):
    """Whether a frozen norm, called before, computes with its old weights when they change."""
    torch._dynamo.reset()
    with tclab.capture() as c, config.patch(FROZEN):
        compiled, x = torch.compile(norm.eval()), torch.randn(4, *norm.weight.shape)
        before = compiled(x)
        norm.weight.add_(1)
        after = compiled(x)
    assert len(c.graphs) == 1 and torch.allclose(before, (norm(x) - norm.bias) / 2, atol=1e-4)
    return torch.equal(after, before)


norms = (torch.nn.LayerNorm, torch.nn.BatchNorm1d)
ignored = {size: {ignores_a_change(norm(size)) for norm in norms} for size in (4, 8, 9, 16)}
# claim: up-to-eight-numbers-are-constants
assert ignored == {4: {True}, 8: {True}, 9: {False}, 16: {False}}


def uses_new_weights(wanted):
    """Whether a frozen product that was called uses weights that are loaded; and after a reset."""
    module, x, used = Product(), torch.randn(128, 64), []
    torch._dynamo.reset()
    with config.patch(FROZEN), torch.set_grad_enabled(wanted):
        compiled = torch.compile(module)
        compiled(x)
        module.load_state_dict(Product().state_dict())
        for _ in range(2):
            used.append(torch.allclose(compiled(x), module(x), atol=1e-4))
            torch._dynamo.reset()
    return used


# claim: with-gradients-nothing-is-frozen
assert uses_new_weights(wanted=True)[0]
# claim: loaded-weights-need-a-reset
assert uses_new_weights(wanted=False) == [False, True]
