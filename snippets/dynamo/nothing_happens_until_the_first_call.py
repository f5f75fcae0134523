"""Nothing happens until the first call.

`torch.compile` returns at once. It reads no bytecode and changes no function. The first
call compiles; the second finds what the first left. The function's own bytecode is the
same object before and after: the compiled version lives in a cache beside it.
"""

import torch
from torch._dynamo.eval_frame import _debug_get_cache_entry_list
from torch._dynamo.testing import CompileCounter

import tclab


def f(x):
    return torch.relu(x) + 1


x = torch.randn(8)
code_before = f.__code__
counter = CompileCounter()  # a backend that counts graphs and runs them as they are
rows = []


def note(moment):
    entries = len(_debug_get_cache_entry_list(f.__code__))
    rows.append((moment, counter.frame_count, entries, f.__code__ is code_before))


note("before torch.compile")
compiled = torch.compile(f, backend=counter)
note("after torch.compile")
compiled(x)
note("after the first call")
compiled(x)
note("after the second call")
f(x)
note("after calling f itself")

assert [row[1] for row in rows] == [0, 0, 1, 1, 1]  # graphs
assert [row[2] for row in rows] == [0, 0, 1, 1, 1]  # cache entries
assert all(row[3] for row in rows)
assert not hasattr(f.__code__, "_torchdynamo_cache")

tclab.show(
    tclab.Table(
        title="What exists when",
        columns=("moment", "graphs compiled", "cache entries of f", "f's bytecode unchanged"),
        rows=rows,
    ),
    name="moments",
)
