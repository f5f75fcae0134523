"""The part behind a break is a function of its own, with guards of its own.

After the break Dynamo makes a *resume function* from the rest of the bytecode. Here the first part
does not look at `k`, the second does. So when `k` changes, the first part hits and the second
compiles again.
"""

import torch
from torch._dynamo.eval_frame import _debug_get_cache_entry_list

import tclab


def f(x, k):
    y = x.sin()
    torch._dynamo.graph_break()
    return y.cos() if k == "cos" else y.tan()


def resume_functions():
    """The code objects of the parts behind the break; Dynamo keeps them among f's globals."""
    for name, value in list(globals().items()):
        if name.startswith("__resume_at"):
            yield value.__code__


def entries():
    return [len(_debug_get_cache_entry_list(code)) for code in (f.__code__, *resume_functions())]


x, made = torch.ones(4), []
with tclab.capture() as c:
    compiled = torch.compile(f, backend="eager")
    for k in ("cos", "tan", "cos"):
        torch.testing.assert_close(compiled(x, k), f(x, k))
        made.append((k, *entries()))

sources = [" ".join(guard.source for guard in guards) for guards in c.guards]
# claim: a-function-of-its-own
assert len(list(resume_functions())) == 1
# claim: guards-of-its-own
assert "L['k']" not in sources[0] and "L['k']" in sources[1]
# claim: entries-of-its-own
assert made == [("cos", 1, 1), ("tan", 1, 2), ("cos", 1, 2)]

columns = ("k", "entries of f", "entries of its resume function")
tclab.show(tclab.Table("Entries after each call", "entries", columns, made))
tclab.show(c.recompiles, name="recompiles")
