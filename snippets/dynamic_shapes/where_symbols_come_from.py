"""Where symbols come from, and what is computed with them.

Each size that may vary gets a symbol, and its source: where on each call its number is found.
Sizes of results are no new symbols. They are expressions of those of the inputs.
"""

import torch

import tclab


def f(x, y):
    both = torch.cat([x, y])
    rest = x[1:]
    thrice = x.repeat(3)
    return both, rest, thrice


x, y = torch.ones(8), torch.ones(6)
c = tclab.capture(f, backend="eager", dynamic=True)(x, y)
names = {symbol.source: symbol.name for symbol in c.symbols}
of_x, of_y = names["L['x'].size()[0]"], names["L['y'].size()[0]"]
sizes = {n.name: n.shape[0] for n in c.graphs[0].nodes if n.shape}

# claim: a-symbol-for-each-size
assert len(c.symbols) == 2 and of_x != of_y
# claim: results-are-expressions
assert (sizes["rest"], sizes["thrice"]) == (f"{of_x} - 1", f"3*{of_x}"), sizes
# claim: a-sum-of-two
assert set(sizes["both"].split(" + ")) == {of_x, of_y}, sizes
inputs = [n.name for n in c.graphs[0].nodes if n.op == "placeholder"]
# claim: the-graph-takes-the-sizes
assert {of_x, of_y} <= set(inputs)

tclab.show(c.symbols, name="symbols")
tclab.show(c.graphs[0], name="graph")
