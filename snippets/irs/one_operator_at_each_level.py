"""The same call at four levels: ATen, Core ATen, what Inductor is given, and Prims."""

import torch
import torch.nn.functional as F
from _levels import levels, lines, operations

import tclab


def layer_norm(x, weight, bias):
    return F.layer_norm(x, (8,), weight, bias)


def batch_norm(x, weight, bias):
    return F.batch_norm(x, None, None, weight, bias, training=True)


def mixed_add(x, weight, bias):
    return x + weight.long()


def gelu(x, weight, bias):
    return F.gelu(x)


def softmax(x, weight, bias):
    return torch.softmax(x, -1)


args = torch.randn(4, 8), torch.ones(8), torch.zeros(8)
functions = (gelu, layer_norm, batch_norm, softmax, mixed_add)
graphs = {fn.__name__: levels(fn, *args) for fn in functions}
ops = {fn: {level: operations(g) for level, g in by.items()} for fn, by in graphs.items()}
exact = {fn.__name__: fn(*(a.double() for a in args)) for fn in functions}
off = max((g(*args) - exact[fn]).abs().max() for fn, by in graphs.items() for g in by.values())
captured = tclab.capture(layer_norm)(*args).forward[0]
given = [n.target.removeprefix("torch.ops.").removesuffix(".default") for n in captured.nodes]

names = tuple(graphs["gelu"])
tclab.show(
    tclab.Table(
        title="Operators in the graph of one call",
        name="one-call",
        columns=("function", *names),
        rows=[(fn, *(len(by[level]) for level in names)) for fn, by in ops.items()],
    )
)
code = {
    level: tclab.Listing(stage="forward", code=lines(graph), language="python")
    for level, graph in graphs["layer_norm"].items()
}
for above, below in (("Core ATen", "Inductor"), ("Inductor", "Prims")):
    tclab.show(
        tclab.Diff(
            title=f"layer_norm: {above}, {below}",
            labels=(above, below),
            left=(code[above],),
            right=(code[below],),
        )
    )

# claim: core-keeps-it-whole
assert all(ops[fn]["Core ATen"] == ops[fn]["ATen"] for fn in ("gelu", "layer_norm", "softmax"))
# claim: inductor-takes-it-apart
assert all(
    len(by["Inductor"]) > len(by["Core ATen"]) for fn, by in ops.items() if fn != "mixed_add"
)
# claim: the-graph-inductor-is-given
assert [op for op in given if op.startswith(("aten", "prims"))] == ops["layer_norm"]["Inductor"]
# claim: every-level-gives-the-same
assert off < 1e-5
# claim: aten-says-it-in-one
assert ops["mixed_add"]["ATen"] == ["aten._to_copy", "aten.add.Tensor"]  # long(), then +
# claim: prims-spell-it-out
assert ops["mixed_add"]["Prims"] == [
    "prims.convert_element_type",  # long()
    *("prims.convert_element_type", "prims.broadcast_in_dim", "prims.add"),
]
# claim: inductor-mixes-the-two
assert ops["mixed_add"]["Inductor"] == ["prims.convert_element_type", "aten.add.Tensor"]
# claim: only-prims-below
assert all(op.startswith("prims.") for op in ops["layer_norm"]["Prims"])
