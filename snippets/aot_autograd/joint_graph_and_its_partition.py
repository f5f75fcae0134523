"""The joint graph, and the cut that makes two of it.

AOTAutograd traces the function and its autograd at compile time, and records both as **one**
graph: inputs are the primals and the tangents, outputs are the results and
the gradients. Then the partitioner cuts it in two. What crosses the cut is what must
be saved for the backward.
"""

import torch

import tclab


def f(x, w):
    h = torch.nn.functional.gelu(x @ w)
    return (h * torch.sigmoid(h)).cos()


torch.manual_seed(0)
x = torch.randn(256, 64)
w = torch.randn(64, 128, requires_grad=True)
c = tclab.capture(f, backward=True)(x, w)


def inputs(graph):
    return [n for n in graph.nodes if n.op == "placeholder"]


def calls(graph):
    return {n.target.removeprefix("torch.ops.") for n in graph.nodes if n.op == "call_function"}


joint, forward, backward = c.joint[0], c.forward[0], c.backward[0]
names = [n.name for n in inputs(joint)]
saved = [n.name for n in inputs(backward) if "tangents" not in n.name]
derivative = "aten.sin.default"  # that of the cosine
(results,) = (set(n.inputs) for n in forward.nodes if n.op == "output")
sizes = {n.name: tuple(map(int, n.shape)) for n in inputs(joint)}
both = {n.name for n in forward.nodes} & {n.name for n in backward.nodes}
# claim: one-joint-graph
assert len(c.graphs) == len(c.joint) == 1 and {"aten.cos.default", derivative} < calls(joint)
# claim: it-holds-both-halves
assert calls(forward) | calls(backward) == calls(joint) - {"aten.alias.default"}
# claim: primals-are-arguments
assert (sizes["primals_1"], sizes["primals_2"]) == (x.shape, w.shape)
# claim: a-tangent-comes-in
assert names[2:] == ["tangents_1"] and sizes["tangents_1"] == c.result.shape
# claim: the-rest-was-saved
assert saved and set(saved) < results
# claim: few-values-cross
assert len(saved) < len(forward) / 2
# claim: some-is-done-twice
assert {"erf", "sigmoid"} <= both - set(saved)

tclab.show(joint, name="joint")
tclab.show(forward, name="forward")
tclab.show(backward, name="backward")
tclab.show(
    tclab.Table(
        title="The two halves",
        columns=("graph", "operations", "inputs"),
        rows=[
            (name, len(g), ", ".join(n.name for n in inputs(g)))
            for name, g in (("joint", joint), ("forward", forward), ("backward", backward))
        ],
    ),
    name="halves",
)
