"""An if on a tensor's value breaks the graph.

Which branch to take is known only when the numbers are. So the graph ends at the `if`, Python
decides, and a second graph is made for the branch that was taken. (The other branch
is compiled when it is first needed.) If both branches are cheap, compute both and choose with
`torch.where`. If not, `torch.cond` puts both into the graph and chooses at run time.
"""

import torch

import tclab


def python_if(x):
    y = x.sin()
    if y.sum() > 0:
        return y + 1
    return y - 1


def with_where(x):
    y = x.sin()
    return torch.where(y.sum() > 0, y + 1, y - 1)


def with_cond(x):
    y = x.sin()
    return torch.cond(y.sum() > 0, lambda y: y + 1, lambda y: y - 1, (y,))


positive, negative = torch.full((8,), 0.5), torch.full((8,), -0.5)
before = tclab.capture(python_if, backend="eager").over([(positive,), (negative,)])
where = tclab.capture(with_where, fullgraph=True, backend="eager").over([(positive,), (negative,)])
cond = tclab.capture(with_cond, fullgraph=True, backend="eager").over([(positive,), (negative,)])

assert len(before.breaks) == 1
assert len(before.graphs) == 3  # up to the if, one branch, later the other
for c in (where, cond):
    assert len(c.graphs) == 1 and len(c.breaks) == 0
    for got, x in zip(c.results, (positive, negative)):
        torch.testing.assert_close(got, python_if(x))

tclab.show(before.breaks, name="breaks")
tclab.show(before.graphs, name="three-graphs")
tclab.show(where.graphs[0], name="where")
tclab.show(cond.graphs[0], name="cond")
