"""Every operator of ATen and prims, and what becomes of it under Inductor.

A row is an overload: `add.Tensor` and `add.Scalar` are two. Composite operators are taken apart and
those that write to an input are made functional before Inductor looks. Of the others its tables
hold a decomposition, which comes first; or a lowering to loops, which may still call PyTorch's
kernel for some inputs; or a fallback, which always does.
"""

import torch
import torch._inductor.decomposition as inductor
from _source import place
from torch._decomp import core_aten_decompositions
from torch._inductor import lowering

import tclab

FIRST = {"composite": "taken apart before", "writes": "made functional before"}


def overload(name):
    """What the registry calls aten::add.Tensor, as torch.ops has it."""
    namespace, _, rest = name.partition("::")
    packet, _, which = rest.partition(".")
    return getattr(getattr(getattr(torch.ops, namespace), packet), which or "default")


def has(op, key):
    return torch._C._dispatch_has_kernel_for_dispatch_key(op.name(), key)


def level(op):
    if op.namespace == "prims":
        return "Prims"
    if torch.Tag.core in op.tags:
        return "Core ATen"
    if has(op, "CompositeImplicitAutograd"):
        return "composite"
    return "writes" if op._schema.is_mutable else "ATen"


def fate(op, level):
    """What becomes of it, by the tables and in the order in which they are asked."""
    if level in FIRST:
        return FIRST[level]
    if op in inductor.decompositions:
        return "decomposes"
    if op in lowering.lowerings:
        return "hands on" if op in lowering.fallbacks else "lowers"
    return "hands on, in no table"


core = core_aten_decompositions()
names = [n for n in torch._C._dispatch_get_all_op_names() if n.startswith(("aten::", "prims::"))]
rows = []
for op in sorted(map(overload, names), key=str):
    rule = inductor.decompositions.get(op) or core.get(op)
    name = str(op).removesuffix(".default")
    rows.append((name, level(op), fate(op, level(op)), rule and place(rule)))
columns = ("operator", "level", "Inductor", "decomposition")
tclab.show(tclab.Table("Operators", "operators", columns, rows))

fates = {name: fate for name, _, fate, _ in rows}
counts = {fate: sum(f == fate for f in fates.values()) for fate in sorted(set(fates.values()))}
columns = ("Inductor", "overloads")
tclab.show(tclab.Table("What becomes of them", "counts", columns, counts.items()))
# claim: every-overload-has-a-row
assert len(rows) == len(names) == sum(counts.values())


def f(x):
    return torch.nn.functional.gelu(x).sin().cummax(0).values.add_(1)


c = tclab.capture(f)(torch.ones(8))
forward = " ".join(n.target for n in c.forward[0].nodes)
handed = " ".join(k.kernel_name for k in c.kernels if k.category == "extern")

# claim: what-decomposes-is-gone
assert fates["aten.gelu"] == "decomposes" and "aten.gelu" not in forward
# claim: what-is-lowered-stays-and-is-generated
assert fates["aten.sin"] == "lowers" and "aten.sin" in forward and "sin" not in handed
# claim: what-is-handed-on-is-called
assert fates["aten.cummax"] == "hands on" and "cummax" in handed, handed
# claim: what-writes-is-gone
assert fates["aten.add_.Tensor"] == FIRST["writes"] and "add_." not in forward
