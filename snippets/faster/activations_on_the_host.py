"""Activation offload: what moves the values that the backward needs, and in which graph.

PyTorch has two ways. `save_on_cpu` is made of hooks on saved tensors; here a pair of hooks counts
what such hooks would get. `enable_activation_offloading` is a setting of AOTAutograd, marked as for
tests, that writes the copies into the graphs; a pass over the joint graph says what may go.
"""

import torch
from _offload import data, net, offloading
from torch.autograd.graph import save_on_cpu, saved_tensors_hooks

import tclab

BLOCKS = 3


def inside(x, *weights):
    with save_on_cpu():
        return net(x, *weights)


def copies(graph):
    """The copies to another device that stand in a graph."""
    return sum("device_put" in node.target for node in graph.nodes if node.op == "call_function")


def step(fn, around):
    """A forward and a backward under a context: graphs, breaks, what hooks got, the gradients."""
    torch._dynamo.reset()
    inputs, taken = data(BLOCKS, 32, 32, "cpu"), []
    hooks = saved_tensors_hooks(lambda t: taken.append(t) or t, lambda t: t)
    with around or hooks, tclab.capture() as c:
        torch.compile(fn, backend="aot_eager")(*inputs).backward()
    forward, backward = (sum(map(copies, graphs)) for graphs in (c.forward, c.backward))
    row = len(c.graphs), len(c.breaks), len(taken), forward, backward
    return row, [tensor.grad for tensor in inputs]


WAYS = {
    "hooks around the compiled call": step(net, None),
    "save_on_cpu inside it": step(inside, offloading(marked=False)),
    "the setting alone": step(net, offloading(marked=False)),
    "the setting, and values marked": step(net, offloading(marked=True)),
}
eager = data(BLOCKS, 32, 32, "cpu")
net(*eager).backward()
columns = ("way", "graphs", "breaks", "tensors that hooks got", "copies forward", "copies backward")
rows = [(way, *row) for way, (row, _) in WAYS.items()]
tclab.show(tclab.Table(title="Ways to offload", name="ways", columns=columns, rows=rows))
around, within, alone, marked = (row for row, _ in WAYS.values())

# claim: hooks-around-a-compiled-call-get-what-is-saved
assert around[:2] == (1, 0) and around[2] > BLOCKS
# claim: inside-it-breaks-the-graph
assert within[1] >= 1
# claim: the-setting-alone-moves-nothing
assert alone[:2] == (1, 0) and alone[3:] == (0, 0)
# claim: marked-values-go-and-come-back
assert marked[:2] == (1, 0) and marked[3] == marked[4] >= BLOCKS
# claim: the-gradients-are-the-same
assert all(torch.equal(a.grad, b) for _, own in WAYS.values() for a, b in zip(eager, own))
