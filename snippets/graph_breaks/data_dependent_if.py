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


@torch.library.custom_op("lab::note", mutates_args=())
def note(x: torch.Tensor, side: str) -> torch.Tensor:
    ran.append(side)  # Python that runs when the graph runs
    return x.clone()


note.register_fake(lambda x, side: torch.empty_like(x))


def sides(x):
    return torch.cond(x.sum() > 0, lambda x: note(x, "yes"), lambda x: note(x, "no"), (x,))


def same(results):
    pairs = zip(results, (positive, negative))
    return all(torch.equal(result, python_if(x)) for result, x in pairs)


positive, negative = torch.full((8,), 0.5), torch.full((8,), -0.5)
calls = [(positive,), (negative,)]
first = tclab.capture(python_if, backend="eager")(positive)
before = tclab.capture(python_if, backend="eager").over(calls)
where = tclab.capture(with_where, fullgraph=True, backend="eager").over(calls)
cond = tclab.capture(with_cond, fullgraph=True, backend="eager").over(calls)

# claim: the-if-breaks
assert len(before.breaks) == 1 and len(first.graphs) == 2
# claim: the-other-branch-comes-later
assert len(before.graphs) == 3 and same(before.results)
# claim: where-is-one-graph
assert len(where.graphs) == 1 and not where.breaks and same(where.results)
# claim: cond-is-one-graph
assert len(cond.graphs) == 1 and not cond.breaks and same(cond.results)
operations = [n.target for n in where.graphs[0].nodes if n.op.startswith("call_")]
# claim: where-computes-both
assert "operator.add" in operations and "operator.sub" in operations

ran, noted = [], torch.compile(sides, fullgraph=True, backend="eager")
for x in (positive, negative):
    noted(x)
# claim: cond-runs-one-side
assert ran == ["yes", "no"]

tclab.show(before.breaks, name="breaks")
tclab.show(before.graphs, name="three-graphs")
tclab.show(where.graphs[0], name="where")
tclab.show(cond.graphs[0], name="cond")
