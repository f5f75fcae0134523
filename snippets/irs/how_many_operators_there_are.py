"""How many operators this PyTorch has, and how few of them are Core ATen or prims.

An operator such as `add` has overloads: `add.Tensor`, `add.Scalar`, `add.out`. A compiler has to
know overloads, since graphs name them. Counted in PyTorch's own registry.
"""

import torch
import torch._inductor.decomposition  # registers Inductor's operators, prims among them

import tclab


def overload(name):
    """What the registry calls aten::add.Tensor, as torch.ops has it."""
    namespace, _, rest = name.partition("::")
    packet, _, which = rest.partition(".")
    return getattr(getattr(getattr(torch.ops, namespace), packet), which or "default")


def has(op, key):
    return torch._C._dispatch_has_kernel_for_dispatch_key(op.name(), key)


registered = [name for name in torch._C._dispatch_get_all_op_names() if name.startswith("aten::")]
aten = [overload(name) for name in registered]
prims = [
    getattr(torch.ops.prims, name)
    for name in torch._prims.__all__
    if hasattr(torch.ops.prims, name)
]
sets = {
    "ATen": aten,
    "no change to an input": [op for op in aten if not op._schema.is_mutable],
    "composite": [op for op in aten if has(op, "CompositeImplicitAutograd")],
    "Core ATen": [op for op in aten if torch.Tag.core in op.tags],
    "Prims": [packet.default for packet in prims],
}
meaning = {
    "ATen": "all that torch and its modules are made of",
    "no change to an input": "what functionalisation leaves, a last copy_ apart",
    "composite": "written with other operators, which AOTAutograd records instead",
    "Core ATen": "tagged core: what run_decompositions() of an export aims at",
    "Prims": "one meaning each: no promotion of types, no implied broadcast",
}
rows = [
    (name, len({op.overloadpacket for op in ops}), len(ops), meaning[name])
    for name, ops in sets.items()
]
tclab.show(
    tclab.Table(
        title="Operators of this PyTorch",
        name="operators",
        columns=("set", "operators", "overloads", "which"),
        rows=rows,
    )
)
overloads = {name: len(ops) for name, ops in sets.items()}
words = {op.overloadpacket.__name__ for op in sets["Prims"]}

# claim: core-is-less-than-a-tenth
assert overloads["Core ATen"] < overloads["ATen"] / 10
# claim: many-only-write-elsewhere
assert 0.4 < 1 - overloads["no change to an input"] / overloads["ATen"] < 0.5
# claim: many-are-composite
assert overloads["composite"] > overloads["ATen"] / 5
# claim: fewer-prims-than-core
assert 0 < overloads["Prims"] < overloads["Core ATen"]
# claim: no-prim-multiplies-matrices
assert words >= {"mul", "sum"} and not words & {"mm", "addmm", "bmm", "baddbmm", "matmul", "dot"}
