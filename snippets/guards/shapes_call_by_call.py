"""Sizes, call by call: static, then symbolic, then hits.

The first compile takes the size as a constant. When a second size comes, Dynamo compiles
once more, with a symbol in place of the number. From then on other sizes hit. Sizes 1
and 0 are exceptions: each compiles again, unless the size is marked as unbacked. The table names
the cache entry that each call ran, `0/0` for the first; a compile is marked with a star. The
backend is Inductor.
"""
# tclab: needs=cxx timeout=180

import torch
from torch._dynamo.eval_frame import _debug_get_cache_entry_list

import tclab


def f(x):
    return x.sin() + x.shape[0]


def calls(sizes, mark=None, **options):
    """The entry that each call of a freshly compiled f ran."""
    torch._dynamo.reset()  # start from an empty cache
    compiled = torch.compile(f, **options)
    ran, known = [], 0
    for size in sizes:
        x = torch.zeros(size)
        if mark:
            mark(x, 0)
        torch.testing.assert_close(compiled(x), f(x))
        entries = _debug_get_cache_entry_list(f.__code__)  # what was run stands in front
        ran.append(f"{entries[0].compile_id}{' *' * (len(entries) > known)}")
        known = len(entries)
    return ran


sizes = (8, 16, 24, 5000, 1, 0, 8)
automatic = calls(sizes)
always = calls(sizes, dynamic=True)
never = calls(sizes, dynamic=False)
unbacked = calls(sizes, torch._dynamo.decorators.mark_unbacked)

# claim: static-then-symbolic-then-hits
assert automatic[:4] == ["0/0 *", "0/1 *", "0/1", "0/1"]
# claim: the-symbolic-entry-serves-the-first-size
assert automatic[6] == "0/1"
# claim: dynamic-true-needs-one
assert always[:4] == ["0/0 *", "0/0", "0/0", "0/0"]
# claim: one-and-zero-compile-again
assert automatic[4:6] == ["0/2 *", "0/3 *"] and always[4:6] == ["0/1 *", "0/2 *"]
# claim: dynamic-false-compiles-each
assert all(entry.endswith("*") for entry in never[:6]) and never[6] == "0/0"
# claim: unbacked-serves-all
assert unbacked == ["0/0 *"] + ["0/0"] * 6

columns = ("size", "default", "dynamic=True", "dynamic=False", "mark_unbacked")
rows = list(zip(sizes, automatic, always, never, unbacked))
tclab.show(tclab.Table("The entry that each call ran", "calls", columns, rows))
c = tclab.capture(f, backend="eager").over([(torch.zeros(n),) for n in (8, 16, 24)])
inputs = [[n.name for n in graph.nodes if n.op == "placeholder"] for graph in c.graphs]
# claim: the-size-became-an-input
assert [len(names) for names in inputs] == [1, 2] and len(c.recompiles) == 1
tclab.show(c.recompiles, name="recompiles")
tclab.show(c.graphs[0], name="static")
tclab.show(c.graphs[1], name="symbolic")
