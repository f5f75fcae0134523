"""Nothing happens until the first call.

`torch.compile` returns at once. It reads no bytecode and changes no function. The first
call compiles; the second finds what the first left. The function's own bytecode is the
same object before and after: the compiled version lives in a cache beside it.
"""

import torch
from torch._dynamo.eval_frame import _debug_get_cache_entry_list

import tclab


def f(x):
    return torch.relu(x) + 1


graphs, runs, rows = [], [], []
x = torch.randn(8)
code_before = f.__code__


def backend(graph, inputs):
    """Notes each graph it is given, and each time the graph is run."""
    graphs.append(graph)

    def run(*args):
        runs.append(graph)
        return graph(*args)

    return run


def note(moment):
    entries = len(_debug_get_cache_entry_list(f.__code__))
    rows.append((moment, len(graphs), len(runs), entries, f.__code__ is code_before))


note("before torch.compile")
compiled = torch.compile(f, backend=backend)
note("after torch.compile")
compiled(x)
note("after the first call")
compiled(x)
note("after the second call")
f(x)
note("after calling f itself")

made, ran, entries, unchanged = ([row[i] for row in rows] for i in (1, 2, 3, 4))
# claim: nothing-before-the-first-call
assert made[:2] == entries[:2] == [0, 0]
# claim: the-first-call-compiles
assert made[2] == entries[2] == ran[2] == 1
# claim: the-second-call-finds-it
assert made[3] == entries[3] == 1 and ran[3] == 2
# claim: calling-f-runs-eager
assert ran[4] == ran[3] and made[4] == 1
# claim: f-keeps-its-bytecode
assert all(unchanged) and not hasattr(f.__code__, "_torchdynamo_cache")

columns = ("moment", "graphs compiled", "graph runs", "cache entries of f",
           "f's bytecode unchanged")  # fmt: skip
tclab.show(tclab.Table("What exists when", "moments", columns, rows))
