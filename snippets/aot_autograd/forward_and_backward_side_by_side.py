"""Which line of yours does this backward operation belong to?

You wrote no backward, yet each of its operations has a line: the line of the forward
operation that it differentiates. AOTAutograd carries the note across. One line of Python,
then, owns operations on both sides. A `detach` moves no data: it marks where autograd cut the
saved value off, and Inductor drops it.
"""

import torch

import tclab


def f(x, w, b):
    h = x @ w
    h = h + b
    h = torch.tanh(h)
    return h * h


torch.manual_seed(0)
x = torch.randn(16, 8)
w = torch.randn(8, 4, requires_grad=True)
b = torch.randn(4, requires_grad=True)
c = tclab.capture(f, backward=True, backend="aot_eager")(x, w, b)


def operations(graph):
    return [node for node in graph.nodes if node.op == "call_function"]


def by_line(graph):
    lines = {}
    for node in operations(graph):
        key = node.source.line, node.source.code.strip()
        lines.setdefault(key, []).append(node.target.removeprefix("torch.ops."))
    return lines


both = (c.forward[0], c.backward[0])
# claim: every-operation-has-a-line
assert all(node.source for graph in both for node in operations(graph))
forward, backward = map(by_line, both)
# claim: each-line-is-on-both-sides
assert set(forward) == set(backward) and len(forward) == 4
(tanh,) = (names for (_, code), names in backward.items() if "tanh" in code)
# claim: the-backward-of-tanh-has-its-line
assert "aten.tanh_backward.default" in tanh
lowered = tclab.capture(f, backward=True)(x, w, b)
# claim: detach-moves-nothing
assert "aten.detach.default" in tanh and "detach" not in lowered.backward[0].code

tclab.show(
    tclab.Table(
        title="Line by line",
        columns=("line", "source", "forward", "backward"),
        rows=[
            (line, code, ", ".join(forward[line, code]), ", ".join(backward[line, code]))
            for line, code in sorted(forward)
        ],
    ),
    name="lines",
)
tclab.show(c.forward[0], name="forward")
tclab.show(c.backward[0], name="backward")
