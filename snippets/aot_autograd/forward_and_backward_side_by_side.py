"""Which line of yours does this backward operation belong to?

You wrote no backward, yet each of its operations has a line: the line of the forward
operation that it differentiates. AOTAutograd carries the note across. One line of Python,
then, owns operations on both sides.
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


def by_line(graph):
    lines = {}
    for node in graph.nodes:
        if node.op == "call_function" and node.source:
            key = node.source.line, node.source.code.strip()
            lines.setdefault(key, []).append(node.target.removeprefix("torch.ops."))
    return lines


forward, backward = by_line(c.forward[0]), by_line(c.backward[0])
assert set(backward) == set(forward)  # each line of the forward owns some backward
assert len(forward) == 4

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
