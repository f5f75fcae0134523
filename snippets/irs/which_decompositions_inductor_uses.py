"""Two tables of decompositions: Core ATen's and Inductor's.

An entry says how one operator is written with others. Inductor starts from Core ATen's table,
leaves out what it has a better lowering for, and adds what it wants in pieces. An entry may
decline: then the operator stays.
"""

import torch
from torch._decomp import core_aten_decompositions
from torch._inductor.decomposition import select_decomp_table
from torch._inductor.lowering import lowerings

import tclab

core, inductor = core_aten_decompositions(), select_decomp_table()


def computes(op):
    """Neither a variant that writes into a given tensor, nor one that changes its input."""
    return isinstance(op, torch._ops.OpOverload) and not op._schema.is_mutable


tables = {
    "in Core ATen's table": core.keys(),
    "in Inductor's": inductor.keys(),
    "in both": core.keys() & inductor.keys(),
    "only in Core ATen's": core.keys() - inductor.keys(),
    "only in Inductor's": inductor.keys() - core.keys(),
}
tclab.show(
    tclab.Table(
        title="Decompositions",
        name="tables",
        columns=("entry", "overloads", "that compute"),
        rows=[(name, len(ops), sum(map(computes, ops))) for name, ops in tables.items()],
    )
)
left_out = [op for op in tables["only in Core ATen's"] if computes(op)]
added = filter(computes, tables["only in Inductor's"])
members = {op for op in added if torch.Tag.core in op.tags}


def f(x, w):
    return torch.nn.functional.layer_norm(x @ w, (8,)).half().sum()


c = tclab.capture(f)(torch.randn(4, 8), torch.randn(8, 8))
calls = [
    node.target.removeprefix("torch.ops.") for node in c.forward[0].nodes if "ops" in node.target
]


def overload(name):
    namespace, packet, which = name.split(".")
    return getattr(getattr(getattr(torch.ops, namespace), packet), which)


given = {name: overload(name) for name in calls}
tclab.show(
    tclab.Table(
        title="What Inductor is given of a small function",
        name="given",
        columns=("operator", "Core ATen", "in Inductor's table"),
        rows=[(name, torch.Tag.core in op.tags, op in inductor) for name, op in given.items()],
    )
)
tclab.show(
    tclab.Table(
        title="Operators with an entry in one of the two tables only",
        name="kept",
        columns=("entry only in", "operators"),
        rows=[
            ("Core ATen's table", ", ".join(sorted(map(str, left_out)))),
            ("Inductor's, for members of Core ATen", ", ".join(sorted(map(str, members)))),
        ],
    )
)

# claim: inductor-has-more
assert len(inductor) > len(core)
# claim: most-are-in-both
assert len(tables["in both"]) > 0.9 * len(core)
# claim: what-is-left-out-has-a-lowering
assert left_out and all(op in lowerings for op in left_out)
# claim: core-operators-are-taken-apart
assert {torch.ops.aten.gelu.default, torch.ops.aten.native_layer_norm.default} <= members
# claim: what-inductor-is-given-is-not-core
assert torch.Tag.core not in given["aten.var_mean.correction"].tags
# claim: prims-among-them
assert "prims.convert_element_type.default" in given
# claim: an-entry-may-decline
assert torch.ops.aten.mm.default in inductor and "aten.mm.default" in given
