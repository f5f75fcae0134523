"""The joint graph, and the cut that makes two of it.

AOTAutograd runs autograd once, at compile time, and records forward and backward as **one**
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


joint, forward, backward = c.joint[0], c.forward[0], c.backward[0]
assert len(inputs(joint)) == 3  # x, w, and the gradient that will come in
assert any("tangents" in n.name for n in inputs(joint))
assert not any("tangents" in n.name for n in inputs(forward))
saved = [n for n in inputs(backward) if "tangents" not in n.name]
assert 0 < len(saved) < len(forward)  # few of the forward's values cross the cut
made_in_forward = {n.name for n in forward.nodes}
assert {n.name for n in saved} <= made_in_forward  # they keep their names
assert len(forward) + len(backward) > len(joint)  # some operations are done in both

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
