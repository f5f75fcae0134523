"""A nested tensor of the layout `torch.jagged`, compiled with Inductor on a CPU.

The numbers are the graphs compiled so far, after each call.
"""
# tclab: needs=cxx timeout=240

import torch
from torch._dynamo.utils import counters

import tclab


def nested(*lengths, layout=torch.jagged):
    return torch.nested.nested_tensor([torch.rand(n, 4) for n in lengths], layout=layout)


def layer(x):
    return linear(x).relu()


def calls(*batches):
    """Graphs so far, after each of the batches."""
    torch._dynamo.reset()
    counters.clear()
    compiled, made = torch.compile(layer, fullgraph=True), []
    for lengths in batches:
        compiled(nested(*lengths))
        made.append(counters["stats"]["unique_graphs"])
    return made


def gradient(call, x):
    linear.zero_grad()
    call(x).values().sum().backward()
    return linear.weight.grad.clone()


def tried(call, x):
    """What became of a call in eager mode, and compiled: graphs and breaks, or the error."""
    torch._dynamo.reset()
    try:
        call(x)
    except (NotImplementedError, RuntimeError) as error:
        eager = type(error).__name__
    else:
        eager = "runs"
    try:
        c = tclab.capture(call)(x)
    except Exception as error:
        return eager, type(error).__name__, None
    return eager, len(c.graphs), len(c.breaks)


linear = torch.nn.Linear(4, 4)
BATCHES = {
    "other lengths": [(2, 3, 4), (4, 3, 2), (5, 5, 5), (9, 2, 2)],
    "another number of sequences": [(2, 3, 4), (4, 5), (2, 2, 2, 2), (3, 3)],
    "a sequence of one row": [(2, 3, 4), (1, 1, 7), (1, 2, 3), (2, 3, 4)],
}
made = {name: calls(*batches) for name, batches in BATCHES.items()}
rows = [(name, *numbers) for name, numbers in made.items()]
columns = ("batches", "call 1", "call 2", "call 3", "call 4")
tclab.show(tclab.Table("Graphs so far", "graphs", columns, rows))
# claim: other-lengths-compile-nothing
assert made["other lengths"] == [1, 1, 1, 1]
# claim: a-sequence-of-one-row-compiles-again
assert made["a sequence of one row"][:2] == [1, 2]
numbers = made["another number of sequences"]
# claim: another-number-compiles-again
assert numbers[1] == 2
# claim: and-then-varies
assert numbers[-1] == numbers[-2]

torch._dynamo.reset()
x, compiled = nested(2, 3, 4), torch.compile(layer, fullgraph=True)
whole = torch.cat([layer(row) for row in x.unbind()])
# claim: it-is-right
assert torch.allclose(compiled(x).values(), whole, atol=1e-6)
ours, eagers = (gradient(call, x) for call in (compiled, layer))
# claim: so-is-the-gradient
assert torch.allclose(ours, eagers, atol=1e-6) and eagers.any()

CALLS = {
    "x.softmax(1)": lambda x: x.softmax(1),
    "x.mean(1)": lambda x: x.mean(1),
    "x[0]": lambda x: x[0],
    "x.unbind()": lambda x: x.unbind()[0],
    "x.cumsum(1)": lambda x: x.cumsum(1),
    "x.flip(1)": lambda x: x.flip(1),
    "x.sort(1)": lambda x: x.sort(1)[0],
}
rows = [(name, *tried(call, x)) for name, call in CALLS.items()]
strided = nested(2, 3, layout=torch.strided)
rows.append(("x.sin(), layout=torch.strided", *tried(torch.sin, strided)))
tclab.show(tclab.Table("Operators", "operators", ("call", "eager", "graphs", "breaks"), rows))
found = {name: tuple(rest) for name, *rest in rows}
# claim: along-the-ragged-side-these-are-one-graph
assert found["x.softmax(1)"] == found["x.mean(1)"] == ("runs", 1, 0)
# claim: taking-a-row-leaves-no-graph
assert found["x[0]"] == found["x.unbind()"] == ("runs", 0, 1)
# claim: what-eager-refuses-compile-refuses
assert all(found[f"x.{name}(1)"][:2] == ("NotImplementedError",) * 2
           for name in ("cumsum", "flip", "sort"))  # fmt: skip
# claim: the-other-layout-is-not-compiled
assert found["x.sin(), layout=torch.strided"][:2] == ("runs", 0)


def from_offsets(values, offsets):
    return torch.nested.nested_tensor_from_jagged(values, offsets).sin().values()


torch._dynamo.reset()
taken = tclab.capture(torch.sin)(x).forward[0].nodes
values, offsets = [node.shape for node in taken if node.op == "placeholder" and node.shape][:2]
# claim: values-and-offsets-come-in
assert len(values) == 2 and values[1] == "4" and offsets == ("4",)
made_inside = torch.compile(from_offsets, fullgraph=True)(x.values(), x.offsets())
# claim: made-inside-it-is-right
assert torch.allclose(made_inside, x.values().sin(), atol=1e-6)
