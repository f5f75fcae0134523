"""The option is read when a function is compiled; its backwards are captured while it runs."""

import torch
from torch._dynamo import compiled_autograd
from torch._dynamo.utils import counters

import tclab


def loss(x, w):
    return (x @ w).sin().sum()


def step(x, w):
    loss(x, w).backward()


def outside(x, w):
    torch.compile(loss, backend="aot_eager")(x, w).backward()


def inside(x, w):
    torch.compile(step, backend="aot_eager")(x, w)


def compiled_before(x, w):
    with torch._dynamo.config.patch(compiled_autograd=False):
        compiled = torch.compile(step, backend="aot_eager")
    compiled(x, w)


def compiled_under_it(x, w):
    compiled = torch.compile(step, backend="aot_eager")
    with torch._dynamo.config.patch(compiled_autograd=False):
        compiled(x, w)


def in_a_context(x, w):
    result = loss(x, w)  # eager
    with compiled_autograd._enable(torch.compile(backend="aot_eager")):
        result.backward()


def captures(way, on):
    torch._dynamo.reset()
    counters.clear()
    x, w = torch.randn(2, 4), torch.randn(4, 4, requires_grad=True)
    with torch._dynamo.config.patch(compiled_autograd=on):
        way(x, w)
    gradient, w.grad = w.grad, None
    step(x, w)
    return counters["compiled_autograd"]["captures"], torch.allclose(gradient, w.grad)


default = torch._dynamo.config.compiled_autograd
WAYS = {
    "the loss compiled, backward() by the program": (outside, True),
    "the step compiled, backward() in it": (inside, True),
    "the step given to torch.compile before the option was set": (compiled_before, True),
    "the step given to torch.compile under the option, now off": (compiled_under_it, True),
    "the step compiled, without the option": (inside, False),
    "an eager loss, backward() in the context": (in_a_context, False),
}
results = {name: captures(*way) for name, way in WAYS.items()}
rows = [(name, way[1], results[name][0]) for name, way in WAYS.items()]
tclab.show(tclab.Table("Captured backwards", "captures", ("way", "option on", "captures"), rows))
outer, inner, before, under, off, context = (count for count, _ in results.values())

# claim: not-outside
assert outer == 0
# claim: inside-it-is
assert inner == 1
# claim: not-where-it-was-compiled-before
assert before == 0
# claim: still-on-where-it-was-compiled-under-it
assert under == 1
# claim: by-default-it-is-not
assert default is False and off == 0
# claim: the-context-takes-eager-too
assert context == 1
# claim: all-gradients-are-right
assert inner == under == context == 1 and all(right for _, right in results.values())
