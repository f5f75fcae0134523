"""A subclass with `__torch_function__` is traced through.

A subclass may change what an operation does: here `sin` gives twice the sine. Dynamo reads its
`__torch_function__` like any other Python, so the graph holds what the method did, not a call of
it. Which class it was is guarded, so a plain tensor gets an entry of its own.
"""

import torch

import tclab


class Doubled(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        result = super().__torch_function__(function, types, args, kwargs or {})
        return result * 2 if function is torch.sin else result


def f(x):
    return torch.sin(x) + 1


plain = torch.ones(4)
doubled = plain.as_subclass(Doubled)
c = tclab.capture(f, backend="eager", fullgraph=True).over([(doubled,), (plain,)])
targets = [[n.target.rpartition(".")[2] for n in g.nodes if len(n.inputs)] for g in c.graphs]

# claim: the-method-is-in-the-graph
assert [row[:-1] for row in targets] == [["sin", "mul", "add"], ["sin", "add"]]
if tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 13):
    # claim: as-eager-does, torch >= 2.13
    assert [float(r[0]) for r in c.results] == [float(f(doubled)[0]), float(f(plain)[0])]
# claim: the-class-is-guarded
assert len(c.recompiles) == 1 and "Doubled" in c.recompiles.recompiles[0].reasons[0]

tclab.show(c.graphs, name="graph")
tclab.show(c.recompiles, name="recompiles")
