"""When is the backward compiled?

The joint graph and its partition are always made in the first forward call. The backward's
*code* is made later for static shapes: when `.backward()` first runs. So the first training
step has two pauses. With symbolic shapes it is made at once, in the forward.
"""

import torch
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.aot_autograd import make_boxed_func

import tclab

events = []


def compiler(name):
    def compile_graph(graph, example_inputs):
        events.append(name)
        return make_boxed_func(graph.forward)

    return compile_graph


backend = aot_autograd(fw_compiler=compiler("forward"), bw_compiler=compiler("backward"))


def f(x):
    return (x.sin() * x).sum()


def watch(**options):
    """What was compiled in the first forward, and what in the first backward."""
    torch._dynamo.reset()
    x = torch.randn(8, requires_grad=True)
    events.clear()
    loss = torch.compile(f, backend=backend, **options)(x)
    in_forward = list(events)
    events.clear()
    loss.backward()
    torch.testing.assert_close(x.grad, x.detach().cos() * x.detach() + x.detach().sin())
    return in_forward, list(events)


static = watch(dynamic=False)
symbolic = watch(dynamic=True)
# claim: static-in-the-first-backward
assert static == (["forward"], ["backward"])
# claim: symbolic-in-the-first-forward
assert sorted(symbolic[0]) == ["backward", "forward"] and symbolic[1] == []

rows = [
    (name, ", ".join(first) or "nothing", ", ".join(second) or "nothing")
    for name, (first, second) in (("static", static), ("symbolic", symbolic))
]
tclab.show(
    tclab.Table(
        title="What each step compiles",
        columns=("shapes", "first forward", "first backward"),
        rows=rows,
    ),
    name="when",
)
