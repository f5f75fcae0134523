"""A call into code that Dynamo may not trace, and two fixes.

Some functions have nothing to trace: they are written in C, or they talk to the
operating system. Dynamo ends the graph, lets Python make the call, and starts again behind
it. Fixes: move the call out of the compiled function; or make it a custom operator, which
the graph calls without looking inside. A custom operator says what it mutates and gives a
shape rule, so the compiler can work around it.
"""

import os

import torch

import tclab


def with_call(x):
    y = x.sin()
    os.getpid()
    return y.cos()


@torch.library.custom_op("lab::log_size", mutates_args=())
def log_size(x: torch.Tensor) -> torch.Tensor:
    with open(os.devnull, "w") as file:  # anything Python can do
        file.write(f"{os.getpid()} {tuple(x.shape)}")
    return x.clone()


@log_size.register_fake
def _(x):
    return torch.empty_like(x)  # shape and dtype: all that tracing needs


def with_operator(x):
    return log_size(x.sin()).cos()


def moved_out(x):
    return x.sin().cos()


x = torch.randn(8)
before = tclab.capture(with_call, backend="eager")(x)
operator = tclab.capture(with_operator, backend="eager", fullgraph=True)(x)
outside = tclab.capture(moved_out, backend="eager", fullgraph=True)(x)
os.getpid()  # where it belongs

for c in (operator, outside):
    torch.testing.assert_close(c.result, with_call(x))
# claim: the-call-breaks
assert len(before.breaks) == 1 and len(before.graphs) == 2
# claim: moved-out-is-one-graph
assert len(outside.breaks) == 0 and len(outside.graphs) == 1
# claim: an-operator-is-one-graph
assert len(operator.breaks) == 0 and len(operator.graphs) == 1
# claim: the-graph-calls-the-operator
assert "torch.ops.lab.log_size" in operator.graphs[0].code

tclab.show(before.breaks, name="breaks")
tclab.show(operator.graphs[0], name="operator")
