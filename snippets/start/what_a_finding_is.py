"""Four faults in one model, and the findings of its report, dearest first.

The model counts its calls in an attribute, so that Dynamo compiles it at every call. It prints,
which ends the graph, and it asks a tensor for a number, which ends it again and is counted. The
tables of the report's first screen and of a program that reads `--format brief` have the same
values.
"""

import json

import torch
from torch import nn

import tclab
from tclab.explain import explain
from tclab.render.report import brief


class Counted(nn.Module):
    def __init__(self):
        super().__init__()
        self.steps = 0
        self.layer = nn.Linear(32, 32)

    def forward(self, x):
        self.steps += 1
        y = self.layer(x) * self.steps
        print("shape:", y.shape)
        scale = y.abs().max().item()
        return y / scale


torch.manual_seed(0)
report = explain(Counted(), [(torch.randn(8, 32),)] * 4)
found = report.findings

# claim: a-compile-at-each-call-is-the-dearest
assert found[0].name == "compiles-every-call" and found[0].cost.unit == "s a call"
assert found[0].cost.known == "measured" and found[0].cost.seconds > 0
read = [each for each in found if each.cost.unit == "number read a call"]
# claim: a-break-that-asks-for-a-number-counts-it
assert [each.places[0].code.strip() for each in read] == ["scale = y.abs().max().item()"]
# claim: each-finding-has-a-line-and-a-fix
assert not [each for each in found if not (each.places and each.actions)] and len(found) > 2
breaks = [each.places[0].code.strip() for each in found if each.name == "graph-break"]
# claim: the-break-that-asks-comes-first
assert breaks == ["scale = y.abs().max().item()", 'print("shape:", y.shape)'], breaks
short = json.loads(brief.text(report))
# claim: brief-has-the-same-findings
assert [each["kind"] for each in short["findings"]] == [each.name for each in found]
assert len(brief.text(report).encode()) <= brief.MOST_BYTES

columns = ("finding", "line", "what", "what to do")
rows = tuple((f.title, str(f.places[0].line), f.what, f.actions[0]) for f in found)
tclab.show(tclab.model.Table("Findings, dearest first", "findings", columns, rows))
