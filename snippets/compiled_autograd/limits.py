"""Where the one graph ends: `fullgraph=True`, and a hook that does more than compute."""

import statistics
import time

import torch
from _steps import a_break, one_product, trained

import tclab


def printing(w):
    w.register_hook(lambda gradient: print("a gradient of", tuple(gradient.shape)))


split = trained(one_product, True, before=printing).of("other")


def step(x, w):
    one_product(x, w).backward()


x, w = torch.randn(2, 4), torch.randn(4, 4, requires_grad=True)
torch._dynamo.reset()
try:
    with torch._dynamo.config.patch(compiled_autograd=True):
        torch.compile(step, backend="aot_eager", fullgraph=True)(x, w)
    refused = ""
except torch._dynamo.exc.Unsupported as error:
    refused = str(error).splitlines()[0]


def microseconds(whole):
    """The median of a hundred steps, with a break in the forward, compiled before."""
    torch._dynamo.reset()
    times = []
    with torch._dynamo.config.patch(compiled_autograd=whole):
        step = torch.compile(lambda x, w: a_break(x, w).backward(), backend="aot_eager")
        for _ in range(110):
            w.grad = None
            start = time.perf_counter()
            step(x, w)
            times.append(time.perf_counter() - start)
    return statistics.median(times[10:]) * 1e6


cost = [("without", microseconds(False)), ("with compiled autograd", microseconds(True))]
tclab.show(
    tclab.Table(
        title="One step, no kernels generated",
        name="cost",
        columns=("step", "time"),
        units=("", "µs"),
        formats=("", ".0f"),
        rows=cost,
    )
)
tclab.show(
    tclab.Table(
        title="Limits",
        name="limits",
        columns=("what", "seen"),
        rows=[
            ("graphs of a backward with a hook that prints", len(split)),
            ("fullgraph=True on a step with backward() in it", refused),
        ],
    )
)

# claim: a-print-splits-the-backward
assert len(split) == 2
# claim: fullgraph-refuses-the-step
assert "backward()" in refused
