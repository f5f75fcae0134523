"""`add_relu` in ten steps, with two sizes that may change.

The function is compiled for an H200 that need not be there, forward and backward, with
`dynamic=True`. A second shape follows the first. What it computes is compared with eager on the
CPU of this machine, at three shapes.
"""
# tclab: needs=triton,cxx timeout=120

import re

import torch

import tclab


def add_relu(x, y):
    return torch.relu(x + y)


def pair(rows, columns):
    return tuple(torch.randn(rows, columns, requires_grad=True) for _ in range(2))


torch.manual_seed(0)
c = tclab.capture(add_relu, target="h200", backward=True, dynamic=True).over(
    [pair(64, 48), pair(33, 1000)]
)
before, after = c.bytecode[:2]
graph, forward, backward = c.graphs[0], c.forward[0], c.backward[0]
loops, fused, kernel = c.ir_pre_fusion[0], c.ir[0], c.kernels[0]
c.compile_kernels()
stages = c.stages(kernel.kernel_name)
tclab.show(before, name="bytecode")
tclab.show(graph, name="dynamo")
tclab.show(c.symbols, name="symbols")
said = [check for guard in c.guards[0] for check in guard.checks]
rows = [(re.sub(r"\s*#.*", "", code),) for code in said if re.search(r"\.(size|stride)\(\)", code)]
checks = " ".join(code for (code,) in rows)
tclab.show(tclab.Table("Guards on sizes", "guards", ("check",), rows))
tclab.show(after, name="rewritten")
tclab.show(c.joint[0], name="joint")
tclab.show(forward, name="forward")
tclab.show(backward, name="backward")
tclab.show(loops, name="loops")
tclab.show(fused, name="fused")
tclab.show(kernel, name="kernel")
called = c.wrapper[0].code.partition("def call(")[2]
rows = [
    (m[0].strip(),)
    for m in re.finditer(r"^.*(?:s\d+ = |xnumel =|empty_strided|\.run\().*$", called, re.M)
]
tclab.show(tclab.Table("What the wrapper does at each call", "wrapper", ("line",), rows))
tclab.show(stages["sass"], name="sass")

names = [node.target for node in graph.nodes if node.op == "call_function"]
shapes = {size for node in graph.nodes for size in node.shape or ()}
# claim: python-knows-two-operations
assert "BINARY_OP" in before.code and "relu" in before.code and "CALL" in before.code
# claim: two-operations-and-two-sizes
assert names == ["operator.add", "torch.relu"], names
assert sum((node.dtype or "").startswith("Sym") for node in graph.nodes) == 2
# claim: four-sizes-are-two-symbols
assert len(shapes) == 2 == len(c.symbols.symbols) and not any(map(str.isdigit, shapes)), shapes
# claim: equal-sizes-are-a-guard
assert all(f"L['y'].size()[{i}] == L['x'].size()[{i}]" in checks for i in (0, 1)), checks
# claim: zero-and-one-are-other-code
assert all(f"2 <= L['x'].size()[{i}]" in checks for i in (0, 1)), checks
# claim: one-compile-for-both-shapes
assert len(c.graphs) == 1 and not c.recompiles.recompiles
# claim: the-new-bytecode-calls-it
assert "__compiled_fn" in after.code and "BINARY_OP" not in after.code
# claim: one-joint-graph-cut-in-two
assert len(c.joint) == len(c.forward) == len(c.backward) == 1
given = [node.dtype for node in backward.nodes if node.op == "placeholder" and node.shape]
# claim: the-mask-is-saved-in-bytes
assert sorted(given) == ["b8", "f32"], given
# claim: two-loops-before-one-after
assert loops.code.count("SchedulerNode(ComputedBuffer)") == 2
assert fused.code.count("FusedSchedulerNode(") == 1 and "snodes[1]" in fused.code
# claim: two-dimensions-become-one
assert re.search(r"\{c0: s\d+\*s\d+\}", fused.code) and not re.search(r"c1: s\d+", fused.code)
# claim: the-kernel-gets-their-product
assert (
    "xnumel" in kernel.code and "ynumel" not in kernel.code and not re.search(r"s\d\d", kernel.code)
)
# claim: the-wrapper-reads-the-sizes
assert re.search(r"xnumel = s\d+ ?\* ?s\d+", c.wrapper[0].code), c.wrapper[0].code
# claim: a-maximum-or-a-compare-in-machine-code
assert re.search(r"FMNMX|FSEL|FSETP", stages["sass"].code) and "FADD" in stages["sass"].code

torch._dynamo.reset()
compiled = torch.compile(add_relu, dynamic=True)
for shape in ((64, 48), (33, 1000), (2, 7)):
    x, y = pair(*shape)
    # claim: eagers-result-at-three-shapes
    assert torch.equal(compiled(x, y), add_relu(x, y))
