"""The same function seen by a backend, and by one that stands below AOTAutograd."""

import torch
from functorch.compile import make_boxed_func
from torch._dynamo.backends.common import aot_autograd

import tclab

graphs, handed = {}, []


def note(name, made=lambda forward: forward):
    """A backend that keeps the graph and runs it; `made` is applied to what it returns."""

    def compiler(graph, example_inputs):
        graphs[name] = graph
        return made(graph.forward)

    return compiler


def boxed(forward):
    """A function of one list, that notes how it is called."""
    of_a_list = make_boxed_func(forward)

    def run(*args):
        handed.append([type(arg) for arg in args])
        return of_a_list(*args)

    run._boxed_call = True
    return run


def f(x, w):
    return torch.nn.functional.linear(x, w).relu().sum()


x, w = torch.randn(8, 4), torch.randn(3, 4, requires_grad=True)
torch.compile(f, backend=note("Dynamo"))(x, w)
torch._dynamo.reset()
below = aot_autograd(fw_compiler=note("forward", boxed), bw_compiler=note("backward", boxed))
torch.compile(f, backend=below)(x, w).backward()
gradient, w.grad = w.grad, None
f(x, w).backward()


def operations(name):
    nodes = (n for n in graphs[name].graph.nodes if n.op.startswith("call"))
    return [str(n.target) if str(n.target).startswith("aten.")
            else getattr(n.target, "__name__", str(n.target)) for n in nodes]  # fmt: skip


tclab.show(tclab.Table(
    title="Operations that each backend sees", name="operations", columns=("graph", "operations"),
    rows=[(name, ", ".join(operations(name))) for name in graphs],
))  # fmt: skip
tclab.show(graphs["forward"], title="The forward graph below AOTAutograd", name="forward")

# claim: aten-below-aotautograd
assert all(op.startswith("aten.") for op in operations("forward") + operations("backward"))
# claim: no-aten-above
assert not any(op.startswith("aten.") for op in operations("Dynamo"))
# claim: two-graphs-below
assert {"forward", "backward"} <= set(graphs)
# claim: inputs-come-as-one-list
assert handed == [[list], [list]]
# claim: the-gradient-is-right
assert torch.allclose(gradient, w.grad)
