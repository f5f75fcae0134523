"""A branch on a size guards the size.

`dynamic=True` asks for symbols. But code that asks a question about a size gets an answer that
holds for some sizes only, and the answer is guarded. Here the branch makes two entries: one for
sizes up to ten, one for those above. The backend is Inductor.
"""
# tclab: needs=cxx

import torch

import tclab


def f(x):
    if x.shape[0] > 10:
        return x.sin()
    return x.cos()


def size_guards(guards):
    """The checks on a symbol, without the two that it is no 0 and no 1."""
    return [check for g in guards for check in g.checks if "size()[0]" in check]


sizes = (8, 16, 5000, 9)
calls = [(torch.zeros(n),) for n in sizes]
c = tclab.capture(f, dynamic=True).over(calls)
for result, (x,) in zip(c.results, calls):
    torch.testing.assert_close(result, f(x))
few, many = ([n.target for n in g.nodes if n.op == "call_method"] for g in c.graphs)

# claim: a-branch-on-a-size-compiles-twice
assert len(c.graphs) == 2 and (few, many) == (["cos"], ["sin"])
default = tclab.capture(f).over(calls)
# claim: by-default-too
assert len(default.graphs) == 3  # one for the number 8, one for more than ten, one for up to ten
# claim: the-answer-is-guarded
assert "10" in " ".join(size_guards(c.guards[0])) and "11" in " ".join(size_guards(c.guards[1]))

columns = ("entry", "operation", "guard on the size")
rows = [(g.compile_id, op[0], "; ".join(size_guards(g))) for g, op in zip(c.guards, (few, many))]
tclab.show(tclab.Table("Two entries for four sizes", "entries", columns, rows))
tclab.show(c.recompiles, name="recompiles")
