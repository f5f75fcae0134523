"""Sizes that are equal at first share a symbol.

Two inputs that have the same size when Dynamo traces get one symbol, and a guard that they stay
equal. So the first call with two different sizes compiles again, with two symbols. PyTorch calls
it duck shaping. Without it the first compile has two symbols. The backend is Inductor.
"""
# tclab: needs=cxx

import torch

import tclab


def f(x, y):
    return x.sin(), y.cos()


calls = [(torch.ones(a), torch.ones(b)) for a, b in ((8, 8), (9, 9), (8, 9), (5000, 6))]
shared = tclab.capture(f, dynamic=True).over(calls)
with torch.fx.experimental._config.patch(use_duck_shape=False):
    apart = tclab.capture(f, dynamic=True).over(calls)


def symbols(graph):
    """How many symbols the graph takes."""
    return sum(n.op == "placeholder" and n.shape is None for n in graph.nodes)


# claim: equal-sizes-share-a-symbol
assert symbols(shared.graphs[0]) == 1
# claim: they-must-stay-equal
assert "y.size()[0] == x.size()[0]" in next(iter(shared.recompiles)).reasons[0]
# claim: different-sizes-compile-again
assert [symbols(g) for g in shared.graphs] == [1, 2]
# claim: without-it-one-compile
assert [symbols(g) for g in apart.graphs] == [2]

columns = ("how", "entry", "symbols")
ways = (("default", shared), ("use_duck_shape = False", apart))
rows = [(how, graph.compile_id, symbols(graph)) for how, c in ways for graph in c.graphs]
tclab.show(
    tclab.Table("Four calls: sizes (8, 8), (9, 9), (8, 9), (5000, 6)", "symbols", columns, rows)
)
tclab.show(shared.recompiles, name="recompiles")

torch._dynamo.reset()
for x in calls[0]:
    torch._dynamo.mark_dynamic(x, 0)
marked = tclab.capture(f)(*calls[0])
# claim: a-mark-shares-no-symbol
assert [symbols(g) for g in marked.graphs] == [2]
