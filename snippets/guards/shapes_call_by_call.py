"""Sizes, call by call: static, then symbolic, then hits.

The first compile takes the size as a constant. When a second size comes, Dynamo compiles
once more, with a symbol in place of the number. From then on other sizes hit. Sizes 1
and 0 are exceptions: each compiles again.
"""

import torch
from torch._dynamo.testing import CompileCounter

import tclab


def f(x):
    return x.sin() + x.shape[0]


def calls(sizes, **options):
    """(size, recompiled?) for each call of a freshly compiled f."""
    torch._dynamo.reset()  # start from an empty cache
    counter = CompileCounter()
    compiled = torch.compile(f, backend=counter, **options)
    made = []
    for size in sizes:
        before = counter.frame_count
        torch.testing.assert_close(compiled(torch.zeros(size)), f(torch.zeros(size)))
        made.append("compile" if counter.frame_count > before else "hit")
    return made


sizes = (8, 16, 24, 32, 1, 0, 8)
automatic = calls(sizes)
always = calls(sizes, dynamic=True)
never = calls(sizes, dynamic=False)

assert automatic[:4] == ["compile", "compile", "hit", "hit"]
assert always[:4] == ["compile", "hit", "hit", "hit"]
assert always[4:6] == ["compile", "compile"]  # 1 and 0, even with dynamic=True
assert never == ["compile"] * 6 + ["hit"]  # each size once

tclab.show(
    tclab.Table(
        title="What each call did",
        columns=("size", "default", "dynamic=True", "dynamic=False"),
        rows=list(zip(sizes, automatic, always, never)),
    ),
    name="calls",
)
c = tclab.capture(f, backend="eager").over([(torch.zeros(n),) for n in (8, 16, 24)])
assert len(c.graphs) == 2 and len(c.recompiles) == 1
tclab.show(c.recompiles, name="recompiles")
tclab.show(c.graphs[0], name="static")
tclab.show(c.graphs[1], name="symbolic")
