"""`save_on_cpu(pin_memory=True)` around a compiled call: the strides that get lost.

The backward of `x @ w` needs the transpose of `x`, so the compiled forward saves a view that is not
contiguous. Where `save_on_cpu` is to pin, it copies into `torch.empty(tensor.size())`, with or
without a GPU. Inductor's backward was made for the strides of the view.
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


def keeps_no_view(x, *weights):
    """Elementwise, so what its backward needs is contiguous."""
    return x.sin().exp().sum() + sum(weight.sum() for weight in weights)


def step(fn, around):
    """The gradients, or the first line of the error."""
    inputs = data(2, 64, 32, "cpu")
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
