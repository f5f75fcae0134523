"""An exported program as it comes, and after its decompositions."""

import torch

import tclab

model = torch.nn.Sequential(
    torch.nn.Linear(8, 16), torch.nn.BatchNorm1d(16), torch.nn.GELU(), torch.nn.Softmax(-1)
).eval()
x = torch.randn(4, 8)
exported = torch.export.export(model, (x,))
programs = {"as exported": exported, "run_decompositions()": exported.run_decompositions()}


class Determinant(torch.nn.Module):
    def forward(self, x):
        return torch.linalg.det(x)


determinant = torch.export.export(Determinant(), (torch.eye(4),)).run_decompositions()


def operators(program):
    calls = (node for node in program.graph.nodes if node.op == "call_function")
    return [n.target for n in calls if isinstance(n.target, torch._ops.OpOverload)]


ops = {name: operators(program) for name, program in programs.items()}
ops[other := "torch.linalg.det, run_decompositions()"] = operators(determinant)
core = {name: all(torch.Tag.core in op.tags for op in targets) for name, targets in ops.items()}
names = {
    name: [str(op).removesuffix(".default") for op in targets] for name, targets in ops.items()
}
tclab.show(
    tclab.Table(
        title="A program at two levels, and another",
        name="levels",
        columns=("program", "Core ATen only", "operators"),
        rows=[(name, core[name], ", ".join(ops)) for name, ops in names.items()],
    )
)
off = max((program.module()(x) - model(x)).abs().max() for program in programs.values())

# claim: composites-are-there-at-first
assert {"aten.linear", "aten.batch_norm"} <= set(names["as exported"])
# claim: composites-are-gone-after
assert not {"aten.linear", "aten.batch_norm"} & set(names["run_decompositions()"])
# claim: by-default-core
assert core["run_decompositions()"] and not core["as exported"]
# claim: what-no-table-has-stays
assert names[other] == ["aten._linalg_det"] and not core[other]
# claim: gelu-is-core
assert "aten.gelu" in names["run_decompositions()"]
# claim: all-give-the-same
assert off < 1e-6
