"""item, tolist and nonzero break by default, and need not.

They ask for numbers that only the data knows. `.item()` gives a Python number, `.tolist()` a list
of them; `nonzero` gives a tensor whose size depends on the values. By default the graph ends there.
With `fullgraph=True`, or with the two options below, Dynamo keeps one graph and gives the unknown
number a symbol, called unbacked: a `u` for a whole number, a `zuf` for a float.
"""

import torch

import tclab


def with_item(x):
    return x * x.sum().item()


def with_tolist(x):
    return x * sum(x.long().tolist())


def with_a_list_of_floats(x):
    return x * sum(x.tolist())


def with_nonzero(x):
    return torch.nonzero(x).float().sum()


def asks(x):
    return x.sin() if x.sum().item() > 3 else x


def refused(fn, x):
    """The kind of error under `fullgraph=True`."""
    try:
        torch.compile(fn, backend="eager", fullgraph=True)(x)
    except Exception as error:
        return type(error).__name__


x = torch.arange(8.0)
options = torch._dynamo.config.patch(
    capture_scalar_outputs=True, capture_dynamic_output_shape_ops=True
)
rows, whole, breaks, counts = [], {}, {}, {}
functions = {".item()": with_item, ".tolist()": with_tolist, "nonzero": with_nonzero}
for name, fn in functions.items():
    default = tclab.capture(fn, backend="eager")(x)
    strict = tclab.capture(fn, backend="eager", fullgraph=True)(x)
    with options:
        asked = tclab.capture(fn, backend="eager")(x)
    for how, c in (("default", default), ("fullgraph=True", strict), ("the options", asked)):
        torch.testing.assert_close(c.result, fn(x))
        rows.append((name, how, len(c.graphs), len(c.breaks)))
        counts[name, how] = len(c.breaks)
    whole[name], breaks[name] = strict.graphs[0], default.breaks


def broken(how):
    """How often each function breaks."""
    return {counts[name, how] for name in functions}


# claim: all-break-by-default
assert broken("default") == {1}
# claim: fullgraph-keeps-one-graph
assert broken("fullgraph=True") == {0}
# claim: but-an-if-on-it-is-an-error
assert refused(with_item, x) is None and refused(asks, x) == "UserError"
# claim: a-list-of-floats-is-an-error
assert refused(with_tolist, x) is None and refused(with_a_list_of_floats, x) == "Unsupported"
# claim: so-do-the-options
assert broken("the options") == {0}
# claim: a-size-is-a-u
assert any(size.startswith("u") for n in whole["nonzero"].nodes for size in n.shape or ())
# claim: a-float-is-a-zuf
assert "zuf" in whole[".item()"].code

tclab.show(breaks[".item()"], name="item-breaks")
tclab.show(breaks["nonzero"], name="nonzero-breaks")
columns = ("call", "how", "graphs", "breaks")
tclab.show(tclab.Table("Graphs", "graphs", columns, rows))
tclab.show(whole[".item()"], name="item-in-one-graph")
tclab.show(whole["nonzero"], name="nonzero-in-one-graph")
