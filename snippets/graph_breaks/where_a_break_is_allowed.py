"""Four tools that say where a break is an error, wanted, or out of the question.

`fullgraph=True` forbids breaks everywhere. `torch._dynamo.error_on_graph_break` does so for a
region, and lifts it for a region inside. `torch.compiler.disable` keeps a function out of the
graph: a break on purpose. `torch._dynamo.nonstrict_trace` takes a function into the graph without
looking at its Python, so what Dynamo cannot read in it does no harm; AOTAutograd traces it later
with fake tensors.
"""

import torch

import tclab


def helper(x):
    torch._dynamo.graph_break()  # stands for anything Dynamo cannot read
    return x.cos()


def plain(x):
    return helper(x.sin()) + 1


@torch._dynamo.error_on_graph_break(True)
def strict(x):
    return helper(x.sin()) + 1


@torch._dynamo.error_on_graph_break(True)
def strict_but_here(x):
    y = x.sin()
    with torch._dynamo.error_on_graph_break(False):
        y = helper(y)
    return y + 1


def disabled(x):
    return torch.compiler.disable(helper)(x.sin()) + 1


@torch._dynamo.nonstrict_trace
def opaque(x):
    torch._dynamo.graph_break()
    return x.cos()


def nonstrict(x):
    return opaque(x.sin()) + 1


def graphs(fn, x, **options):
    """How many graphs there are, or the error."""
    try:
        c = tclab.capture(fn, backend="eager", **options)(x)
    except torch._dynamo.exc.Unsupported as error:
        return f"error: {str(error).splitlines()[0]}"
    torch.testing.assert_close(c.result, x.sin().cos() + 1)
    return str(len(c.graphs))


x = torch.randn(8)
found = {
    "nothing": graphs(plain, x),
    "fullgraph=True": graphs(plain, x, fullgraph=True),
    "error_on_graph_break(True)": graphs(strict, x),
    "… and (False) around the helper": graphs(strict_but_here, x),
    "torch.compiler.disable(helper)": graphs(disabled, x),
    "nonstrict_trace(helper)": graphs(nonstrict, x),
    "nonstrict_trace(helper), fullgraph=True": graphs(nonstrict, x, fullgraph=True),
}
columns = ("tool", "graphs, or the error")
tclab.show(tclab.Table("What each tool gives", "tools", columns, list(found.items())))

factor = 2


@torch._dynamo.nonstrict_trace
def scaled(x):
    return x * factor


@torch.compile(backend="aot_eager")
def calls_scaled(x):
    return scaled(x)


before = calls_scaled(x)
factor = 3
torch.testing.assert_close(calls_scaled(x), before)  # no guard watches what it read
torch.testing.assert_close(scaled(x), before * 1.5)

assert found["nothing"] == found["… and (False) around the helper"] == "3"
assert found["fullgraph=True"] == found["error_on_graph_break(True)"]
assert found["fullgraph=True"].startswith("error")
assert found["torch.compiler.disable(helper)"] == "2"
assert {graphs(nonstrict, x), graphs(nonstrict, x, fullgraph=True)} == {"1"}
