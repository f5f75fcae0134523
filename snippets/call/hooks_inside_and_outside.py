"""Hooks: inside the graph, or outside, by the way of compiling.

A forward hook doubles the result. Where the call of the module is compiled, the hook is traced with
it and its product is one more operation of the graph. Where only `forward` is compiled, the hook
runs in Python after the graph. A hook on the wrapper belongs to the wrapper: the module inside
knows nothing of it. The last table adds the hook after the first call, to the module that was
compiled or to a layer in it: the number of graphs would not say whose they are, so their
operations are counted.
"""

import torch
from torch._dynamo.testing import CompileCounter

import tclab


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(4, 4)

    def forward(self, x):
        return x + torch.relu(self.lin(x))


def double(module, args, output):
    return output * 2


x = torch.randn(2, 4)


def compiled(way):
    """A module with the hook, compiled in one way; operations in its graph; are results right?"""
    torch._dynamo.reset()
    counter, module = CompileCounter(), Block()
    plain = module(x)
    if way != "on the wrapper":
        module.register_forward_hook(double)
    if way == "forward":
        module.forward = torch.compile(module.forward, backend=counter)
        ready = module
    elif way == "m.compile()":
        module.compile(backend=counter)
        ready = module
    else:
        ready = torch.compile(module, backend=counter)
    if way == "on the wrapper":
        ready.register_forward_hook(double)
    doubled = torch.equal(ready(x), plain * 2)
    return counter.op_count, doubled, torch.equal(module(x), plain * 2)


ways = ("torch.compile(m)", "m.compile()", "forward", "on the wrapper")
rows = [(way, *compiled(way)) for way in ways]
wrapped, installed, forward, outside = (row[1:] for row in rows)
# claim: hooks-are-in-the-graph
assert wrapped[0] == installed[0] == forward[0] + 1
# claim: behind-forward-alone-they-run-in-python
assert forward[0] == 3 and forward[1]
# claim: all-ways-run-them
assert all(row[2] for row in rows)
# claim: a-hook-on-the-wrapper-is-the-wrappers
assert outside[0] == 3 and outside[1] and not outside[2]

columns = ("hook, and what is compiled", "operations in the graph", "doubled", "by m itself, too")
tclab.show(tclab.Table("Where a forward hook runs", "hooks", columns, rows))


def later(way, where, make=Block):
    """Operations of each graph, before and after a hook is added to one of its modules; called?"""
    torch._dynamo.reset()
    sizes, module = [], make()

    def counted(graph, inputs):
        sizes.append(sum(node.op.startswith("call") for node in graph.graph.nodes))
        return graph.forward

    ready = torch.compile(module, backend=counted) if way == "torch.compile(m)" else module
    if way == "m.compile()":
        module.compile(backend=counted)
    plain, before = ready(x), sizes.copy()
    module.get_submodule(where).register_forward_hook(double)
    called = not torch.equal(ready(x), plain)
    return before, sizes, called


late = [(way, where or "m", *later(way, where)) for way in ways[:2] for where in ("", "lin")]
# claim: a-later-hook-on-a-layer-is-ignored
assert [row[2:] for row in late if row[1] == "lin"] == [([3], [3], False)] * 2
# claim: one-on-the-compiled-module-is-a-graph-of-its-own
assert [row[2:] for row in late if row[1] == "m"] == [([3], [3, 1], True)] * 2
bare = later("torch.compile(m)", "", lambda: torch.nn.Linear(4, 4))
late.append(("torch.compile(m)", "m, a bare nn.Linear", *bare))
# claim: of-a-bare-layer-it-is-not-called
assert bare == ([1], [1], False)
late = [(*row[:2], *(", ".join(map(str, sizes)) for sizes in row[2:4]), row[4]) for row in late]
columns = ("compiled with", "hook added to", "operations before", "operations after", "called")
tclab.show(tclab.Table("A hook added after the first call", "later", columns, late))

sums = []


def note(module, inputs, outputs):
    sums.append(outputs[0].sum().item())


gradients = []
for backend in (None, "aot_eager"):
    torch._dynamo.reset()
    torch.manual_seed(0)
    module = Block()
    module.register_full_backward_hook(note)
    ready = torch.compile(module, backend=backend) if backend else module
    inputs = torch.ones(2, 4, requires_grad=True)
    ready(inputs).sum().backward()
    gradients.append(inputs.grad)
# claim: a-backward-hook-is-called
assert sums == [8.0, 8.0] and torch.equal(*gradients)
