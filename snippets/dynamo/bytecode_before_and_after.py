"""The bytecode that runs instead.

Left: what Python compiled from `f`. Right: what Dynamo runs in its place. The
multiplication, the relu and the sum are gone. One call of `__compiled_fn_…` stands for them. The
append to the list is Python, not tensor work, so it stays as bytecode and runs after the
graph. The first table has names only; the whole listings follow. The calls of
`record_pregraph_bytecode_enter` and `…_exit` stand around the part that fetches the inputs.
"""

import re
from itertools import zip_longest

import torch

import tclab

seen = []


def f(x):
    y = torch.relu(x * 2)
    seen.append(1)
    return y.sum()


c = tclab.capture(f, backend="eager")(torch.randn(8))

original, rewritten = c.bytecode[:2]
work = ("relu", "(*)", "sum")
# claim: one-call-stands-for-the-tensor-work
assert all(part in original.code and part not in rewritten.code for part in work)
text = rewritten.code
parts = text.index("(x)"), text.rindex(" CALL "), text.index("(seen)")
# claim: inputs-then-graph-then-python
assert parts == tuple(sorted(parts)) and "__compiled_fn" in text
# claim: the-append-became-a-whole-list
assert "STORE_SUBSCR" in rewritten.code and "append" not in rewritten.code and seen == [1]
# claim: what-the-list-held-is-guarded
assert any("seen" in guard.source for guard in c.guards[0])
# claim: the-profiler-is-told
assert text.index("bytecode_enter") < parts[0] < text.index("bytecode_exit") < parts[1]

instruction = re.compile(r"\b([A-Z][A-Z_]{2,})\b(?:\s+\d+)?(?:\s+\((.+)\))?")


def instructions(listing):
    return [" ".join(filter(None, found)) for found in instruction.findall(listing.code)]


tclab.show(
    tclab.Table(
        title="Side by side",
        columns=("original", "rewritten"),
        rows=list(zip_longest(instructions(original), instructions(rewritten))),
    ),
    name="side-by-side",
)
tclab.show(original, name="original")
tclab.show(rewritten, name="rewritten")
tclab.show(c.graphs[0], name="graph")
