"""A print breaks the graph, without a word.

By default a `print` ends the graph: one graph before it, then Python prints, then one graph
after it. Nothing tells you. Three ways to keep one graph: let Dynamo move the print to the end
of the function, let it drop the print, or make the print an operator that runs in the graph. The
second table says what came out, and where: `work` stands for an operator that runs after the print.
"""

import contextlib
import io

import torch

import tclab


@torch.library.custom_op("lab::work", mutates_args=())
def work(x: torch.Tensor) -> torch.Tensor:
    print("work")  # Python that runs when the graph runs
    return x.cos()


work.register_fake(torch.empty_like)


def noisy(x):
    y = x.sin()
    print("between")
    return work(y)


def operator(x):
    y = x.sin()
    torch._higher_order_ops.print("between")
    return work(y)


def printed(fn, **options):
    """What a compiled call writes, and how it was compiled."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        c = tclab.capture(fn, backend="eager", **options)(x)
    torch.testing.assert_close(c.result, x.sin().cos())
    return out.getvalue().split(), c


x = torch.arange(8.0)
patch = torch._dynamo.config.patch
said = {"as it is": printed(noisy)}
with patch(reorderable_logging_functions={print}):
    said["reorderable_logging_functions = {print}"] = printed(noisy, fullgraph=True)
with patch(ignore_logging_functions={print}):
    said["ignore_logging_functions = {print}"] = printed(noisy, fullgraph=True)
said["torch._higher_order_ops.print"] = printed(operator, fullgraph=True)
(as_is, before), (moved, _), (dropped, _), (inside, _) = said.values()

# claim: print-breaks-the-graph
assert len(before.breaks) == 1 and len(before.graphs) == 2
# claim: a-break-keeps-the-order
assert as_is == ["between", "work"]
# claim: three-ways-to-one-graph
assert all(len(c.graphs) == 1 and not c.breaks for _, c in list(said.values())[1:])
# claim: a-moved-print-comes-last
assert moved == ["work", "between"]
# claim: an-ignored-print-is-gone
assert dropped == ["work"]
# claim: an-operator-keeps-its-place
assert inside == ["between", "work"]

tclab.show(before.breaks, name="breaks")
tclab.show(before.graphs, name="two-graphs")
columns = ("how", "graphs", "breaks", "printed")
rows = [(how, len(c.graphs), len(c.breaks), ", ".join(out)) for how, (out, c) in said.items()]
tclab.show(tclab.Table("The fixes", "fixes", columns, rows))
