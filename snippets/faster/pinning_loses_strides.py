"""`save_on_cpu(pin_memory=True)` around a compiled call: the strides that get lost.

The backward of `x @ w` needs the transpose of `x`, so the compiled forward saves a view that is not
contiguous. Where `save_on_cpu` is to pin, it copies into `torch.empty(tensor.size())`, with or
without a GPU. Inductor's backward was made for the strides of the view.

A view with gaps, such as the queries in one product of queries, keys and values, loses its strides
in `torch.empty_like` and in a copy, too. `to("cpu", copy=True)` stands for what `save_on_cpu()`
does to a tensor of a GPU.
"""
# tclab: needs=cxx timeout=180

import torch
from _offload import data, hooks_that_keep_strides, net
from torch.autograd.graph import save_on_cpu

import tclab

BACKENDS = ("eager", "aot_eager", "inductor")
HOOKS = {
    "none": torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t),
    "save_on_cpu()": save_on_cpu(),
    "save_on_cpu(pin_memory=True)": save_on_cpu(pin_memory=True),
    "hooks that keep strides": hooks_that_keep_strides(),
}


def hooks_that_keep_gaps():
    """A copy of all numbers from a tensor's first to its last, which then can have its strides."""

    def pack(tensor):
        span = 1 + sum((n - 1) * step for n, step in zip(tensor.shape, tensor.stride()))
        on_host = tensor.detach().as_strided((span,), (1,)).to("cpu", copy=True)
        return tensor.device, on_host, tensor.shape, tensor.stride()

    def unpack(packed):
        device, on_host, *layout = packed
        return on_host.to(device).as_strided(*layout)

    return torch.autograd.graph.saved_tensors_hooks(pack, unpack)


def keeps_no_view(x, *weights):
    """Elementwise, so what its backward needs is contiguous."""
    return x.sin().exp().sum() + sum(weight.sum() for weight in weights)


def attention(x, w):
    """Keeps queries, keys and values, which are views of one product with gaps between the rows."""
    q, k, v = (x @ w).chunk(3, -1)  # [1, heads, rows, width] each
    return torch.nn.functional.scaled_dot_product_attention(q, k, v).square().sum()


def products():
    """An input of two heads, and the weight of all three products."""
    torch.manual_seed(0)
    return [torch.randn(shape, requires_grad=True) for shape in ((1, 2, 16, 8), (8, 24))]


def step(fn, around, inputs=None):
    """The gradients, or the first line of the error."""
    inputs = inputs or data(2, 64, 32, "cpu")
    try:
        with around:
            fn(*inputs).backward()
    except AssertionError as error:
        return str(error).splitlines()[0].partition(";")[0]
    return [tensor.grad for tensor in inputs]


results = {}
for backend in BACKENDS:
    fn = net if backend == "eager" else torch.compile(net, backend=backend)
    results |= {(backend, name): step(fn, around) for name, around in HOOKS.items()}
    torch._dynamo.reset()


def outcome(backend, name):
    """What the user sees."""
    result, plain = results[backend, name], results[backend, "none"]
    if isinstance(result, str):
        return result
    return "the same bits" if all(map(torch.equal, result, plain)) else "other gradients"


COPIES = {
    "none": HOOKS["none"],
    "a copy on the host": torch.autograd.graph.saved_tensors_hooks(
        lambda t: t.detach().to("cpu", copy=True), lambda t: t
    ),
    "hooks that keep strides": HOOKS["hooks that keep strides"],
    "hooks that keep gaps": hooks_that_keep_gaps(),
}
gaps = {name: step(torch.compile(attention), around, products()) for name, around in COPIES.items()}
pinned = step(torch.compile(keeps_no_view), HOOKS["save_on_cpu(pin_memory=True)"])
without = step(keeps_no_view, HOOKS["none"])

columns = ("hooks", *BACKENDS)
rows = [(name, *(outcome(backend, name) for backend in BACKENDS)) for name in HOOKS]
title = "A step under hooks, against none"
tclab.show(tclab.Table(title=title, name="steps", columns=columns, rows=rows))
by_hooks = {row[0]: row[1:] for row in rows}

# claim: pinned-copies-fail-in-inductors-check
assert "stride" in by_hooks["save_on_cpu(pin_memory=True)"][2]
# claim: without-a-view-nothing-is-lost
assert not isinstance(pinned, str) and all(map(torch.allclose, pinned, without))
# claim: without-the-check-nobody-sees-it
assert set(by_hooks["save_on_cpu(pin_memory=True)"][:2]) == {"the same bits"}
others = [row for name, row in by_hooks.items() if name != "save_on_cpu(pin_memory=True)"]
# claim: what-keeps-strides-works
assert all(set(row) == {"the same bits"} for row in others)
# claim: empty-like-loses-gaps
assert "stride" in gaps["hooks that keep strides"]
# claim: a-copy-loses-gaps
assert "stride" in gaps["a copy on the host"]
# claim: the-whole-span-keeps-gaps
assert all(map(torch.equal, gaps["hooks that keep gaps"], gaps["none"]))
