"""The bytecode that runs instead.

Left: what Python compiled from `f`. Right: what Dynamo runs in its place. The
multiplication, the relu and the sum are gone. One call of `__compiled_fn_…` stands for them. The
append to the list is Python, not tensor work, so it stays as bytecode and runs after the
graph. The first table has names only; the whole listings follow.
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
assert "relu" in original.code and "__compiled_fn" not in original.code
assert "__compiled_fn" in rewritten.code
assert "relu" not in rewritten.code  # the tensor work moved into the graph
assert seen == [1]  # and the append happened ...
assert "STORE_SUBSCR" in rewritten.code  # ... as seen[:] = [1]

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
