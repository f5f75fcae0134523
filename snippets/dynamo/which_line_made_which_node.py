"""Which line became which node.

Line and node are not one to one. Here one line makes four nodes, and two lines
make none. Dynamo notes the source line of each node, and the rest of the compiler carries
it along: this is how a kernel can name your line later.
"""

import torch

import tclab


def head(x, weight, scale=0.5):
    size = x.shape[-1]  # no node: the size is known
    factor = scale / size**0.5  # no node: plain Python numbers
    logits = (x @ weight.t() * factor).softmax(-1)  # four nodes
    return logits.clamp(min=0.1)  # one node


torch.manual_seed(0)
c = tclab.capture(head, backend="eager")(torch.randn(4, 16), torch.randn(8, 16))
graph = c.graphs[0]

by_line = {}
for node in graph.nodes:
    if node.op.startswith("call_") and node.source:
        by_line.setdefault(node.source.line, []).append(node)

# claim: one-line-four-nodes
assert [len(nodes) for nodes in by_line.values()] == [4, 1]  # and none for the first two lines
targets = [n.target.removeprefix("operator.") for n in graph.nodes if n.op.startswith("call_")]
# claim: the-calls-as-written
assert targets == ["t", "matmul", "mul", "softmax", "clamp"]
# claim: no-aten-yet
assert "aten" not in graph.code

tclab.show(graph, name="graph")
tclab.show(
    tclab.Table(
        title="Nodes by line",
        columns=("line", "source", "nodes", "names"),
        rows=[
            (line, nodes[0].source.code.strip(), len(nodes), ", ".join(n.name for n in nodes))
            for line, nodes in sorted(by_line.items())
        ],
    ),
    name="lines",
)
