"""item and nonzero break by default, and need not.

Both ask for a number that only the data knows. `.item()` gives a Python number; `nonzero`
gives a tensor whose size depends on the values. By default the graph ends there. With
`fullgraph=True`, or with the two options below, Dynamo keeps one graph and gives
the unknown number a symbol: `u0`, for unbacked.
"""

import torch

import tclab


def with_item(x):
    total = x.sum().item()
    return x * total


def with_nonzero(x):
    return torch.nonzero(x).float().sum()


x = torch.arange(8.0)
options = torch._dynamo.config.patch(
    capture_scalar_outputs=True, capture_dynamic_output_shape_ops=True
)
rows, shown = [], {}
for name, fn in ((".item()", with_item), ("nonzero", with_nonzero)):
    default = tclab.capture(fn, backend="eager")(x)
    strict = tclab.capture(fn, backend="eager", fullgraph=True)(x)
    with options:
        asked = tclab.capture(fn, backend="eager")(x)
    rows += [
        (name, "default", len(default.graphs), len(default.breaks)),
        (name, "fullgraph=True", len(strict.graphs), len(strict.breaks)),
        (name, "the options", len(asked.graphs), len(asked.breaks)),
    ]
    assert len(default.breaks) == 1
    assert len(strict.graphs) == len(asked.graphs) == 1
    assert len(strict.breaks) == len(asked.breaks) == 0
    for c in (default, strict, asked):
        torch.testing.assert_close(c.result, fn(x))
    shown[name] = default, strict

tclab.show(shown[".item()"][0].breaks, name="item-breaks")
tclab.show(shown["nonzero"][0].breaks, name="nonzero-breaks")
tclab.show(
    tclab.Table(title="Graphs", columns=("call", "how", "graphs", "breaks"), rows=rows),
    name="graphs",
)
tclab.show(shown[".item()"][1].graphs[0], name="item-in-one-graph")
