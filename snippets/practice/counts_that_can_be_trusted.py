"""Graphs, operations, breaks and backwards: counted by a backend, by a capture, by `explain`.

The backend is the judge: it is called once for each graph and counts what it is given.
"""

import torch
from torch._dynamo.testing import CompileCounter

import tclab


def functions(x):
    return torch.cos(torch.sin(x))


def methods(x):
    return x.sin().cos() * 2


def tensor_if(x):
    y = x.sin()
    return y + 1 if y.sum() > 0 else y - 1


def given_up(x):
    for _ in range(3):
        x = x.sin()
        torch._dynamo.graph_break()
    return x


def keeps_an_output(x):
    output = x.sin()
    return output.cos()


def by_a_backend(fn, x):
    """(graphs, operations) that reach a backend."""
    sizes = []

    def count(graph, example_inputs):
        sizes.append(sum(node.op.startswith("call_") for node in graph.graph.nodes))
        return graph.forward

    torch._dynamo.reset()
    torch.compile(fn, backend=count)(x)
    return len(sizes), sum(sizes)


x, rows, explained = torch.ones(8, requires_grad=True), {}, {}
for fn in (functions, methods, tensor_if, given_up, keeps_an_output):
    judged = by_a_backend(fn, x)
    c = tclab.capture(fn, backend="aot_eager", backward=True)(x)
    captured = len(c.graphs), sum(map(len, c.graphs)), len(c.breaks), len(c.backward)
    e = explained[fn.__name__] = torch._dynamo.explain(fn)(x)
    rows[fn.__name__] = *judged, *captured, e.graph_count, e.op_count, e.graph_break_count

mine = torch.compile(functions, backend=(counter := CompileCounter()))
compiles = []
for look in (lambda: None, lambda: tclab.capture(methods, backend="eager")(x),
             lambda: torch._dynamo.explain(methods)(x)):  # fmt: skip
    look()
    mine(x)
    compiles.append(counter.frame_count)

tclab.show(
    tclab.Table(
        title="Who counts what",
        name="counts",
        columns=(
            *("function", "graphs", "operations"),
            *("graphs, capture", "operations, capture", "breaks, capture", "backwards, capture"),
            *("graphs, explain", "operations, explain", "breaks, explain"),
        ),
        rows=[(name, *row) for name, row in rows.items()],
    )
)
print("compiles of another function: at first, after a capture, after explain:", *compiles)

# claim: a-capture-agrees-with-the-backend
assert all(row[:2] == row[2:4] for row in rows.values())
# claim: a-capture-counts-backwards
assert [row[5] for row in rows.values()] == [row[0] for row in rows.values()]
# claim: explain-misses-methods
assert rows["methods"][7] < rows["methods"][1] and rows["functions"][7] == rows["functions"][1]
# claim: explain-says-minus-one
assert rows["given_up"][4] == 1 and rows["given_up"][8] == -1
assert all(row[8] == row[6] - 1 for row in rows.values())
# claim: explain-knows-no-backward
assert not any("backward" in name for name in vars(explained["methods"]))
# claim: a-capture-keeps-what-was-compiled
assert compiles[0] == compiles[1] == 1
# claim: explain-throws-it-away
assert compiles[2] == 2
