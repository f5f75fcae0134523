"""A print breaks the graph, without a word.

By default a `print` ends the graph: one graph before it, then Python prints, then one graph
after it. Nothing tells you. Three ways to keep one graph: let Dynamo move the print to the end
of the graph, let it drop the print, or make the print an operator that runs in the graph at
the right place.
"""

import torch

import tclab


def noisy(x):
    y = x.sin()
    print("between")
    return y.cos()


def operator(x):
    y = x.sin()
    torch._higher_order_ops.print("between")
    return y.cos()


x = torch.randn(8)
before = tclab.capture(noisy, backend="eager")(x)
# claim: print-breaks-the-graph
assert len(before.breaks) == 1 and len(before.graphs) == 2
assert before.breaks.breaks[0].gb_id == "GB0059"

with torch._dynamo.config.patch(reorderable_logging_functions={print}):
    moved = tclab.capture(noisy, backend="eager", fullgraph=True)(x)
with torch._dynamo.config.patch(ignore_logging_functions={print}):
    dropped = tclab.capture(noisy, backend="eager", fullgraph=True)(x)
inside = tclab.capture(operator, backend="eager", fullgraph=True)(x)

rows = [("as it is", before), ("reorderable_logging_functions = {print}", moved),
        ("ignore_logging_functions = {print}", dropped),
        ("torch._higher_order_ops.print", inside)]  # fmt: skip
for _, c in rows[1:]:
    assert len(c.graphs) == 1 and len(c.breaks) == 0
    torch.testing.assert_close(c.result, x.sin().cos())

tclab.show(before.breaks, name="breaks")
tclab.show(before.graphs, name="two-graphs")
tclab.show(
    tclab.Table(
        title="The fixes",
        columns=("how", "graphs", "breaks"),
        rows=[(how, len(c.graphs), len(c.breaks)) for how, c in rows],
    ),
    name="fixes",
)
