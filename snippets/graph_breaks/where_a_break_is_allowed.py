"""Four tools that say where a break is an error, wanted, or out of the question.

`fullgraph=True` forbids breaks everywhere. `torch._dynamo.error_on_graph_break` does so for a
region, and lifts it for a region inside. `torch.compiler.disable` keeps a function out of the
graph: a break on purpose. `torch._dynamo.nonstrict_trace` takes a function into the graph without
looking at its Python, so what Dynamo cannot read in it does no harm; AOTAutograd traces it later
with fake tensors.
"""

import torch

import tclab

strict = torch._dynamo.error_on_graph_break


def helper(x):
    torch._dynamo.graph_break()  # stands for anything Dynamo cannot read
    return x.cos()


def helper_with_work_before(x):
    x = x.cos()
    torch._dynamo.graph_break()
    return x.cos()


def calls(helper):
    def caller(x):
        return helper(x.sin()) + 1

    return caller


@strict(True)
def strict_but_here(x):
    y = x.sin()
    with strict(False):
        y = helper(y)
    return y + 1


opaque = torch._dynamo.nonstrict_trace(helper)


def graphs(fn, **options):
    """How many graphs there are, or the error."""
    try:
        c = tclab.capture(fn, backend="eager", **options)(x)
    except torch._dynamo.exc.Unsupported as error:
        return f"error: {str(error).splitlines()[0]}"
    return str(len(c.graphs))


x = torch.randn(8)
tools = {
    "nothing": graphs(calls(helper)),
    "nothing, and work before the break": graphs(calls(helper_with_work_before)),
    "fullgraph=True": graphs(calls(helper), fullgraph=True),
    "error_on_graph_break(True)": graphs(strict(True)(calls(helper))),
    "… and (False) around the helper": graphs(strict_but_here),
    "torch.compiler.disable(helper)": graphs(calls(torch.compiler.disable(helper))),
    "nonstrict_trace(helper)": graphs(calls(opaque)),
    "nonstrict_trace(helper), fullgraph=True": graphs(calls(opaque), fullgraph=True),
}
# claim: a-helper-makes-three
assert tools["nothing"] == tools["… and (False) around the helper"] == "3"
# claim: work-on-both-sides-makes-four
assert tools["nothing, and work before the break"] == "4"
# claim: two-tools-make-it-an-error
assert all(tools[t].startswith("error") for t in ("fullgraph=True", "error_on_graph_break(True)"))
# claim: a-disabled-helper-leaves-two
assert tools["torch.compiler.disable(helper)"] == "2"
# claim: nonstrict-leaves-one
assert tools["nonstrict_trace(helper)"] == tools["nonstrict_trace(helper), fullgraph=True"] == "1"
columns = ("tool", "graphs, or the error")
tclab.show(tclab.Table("What each tool gives", "tools", columns, list(tools.items())))
