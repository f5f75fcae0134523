"""What `torch.export` is told of a size, and what it makes of a model that asks for it.

`Sine` does not care about its rows. `AsksForFour` has a branch for four rows, the number of the
example. `BranchesOnData` has one on a number in a tensor. Nothing here is compiled.
"""

import contextlib
import io
import logging

import torch
from torch.export import Dim, draft_export, export

import tclab

logging.getLogger("torch").setLevel(logging.CRITICAL)


class Sine(torch.nn.Module):
    def forward(self, x):
        return x.sin()


class AsksForFour(torch.nn.Module):
    def forward(self, x):
        return x.sin() if x.shape[0] == 4 else x.cos()


class BranchesOnData(torch.nn.Module):
    def forward(self, x, number):
        return x.sin() if number.item() > 2 else x.cos()


def rows_of(model, told):
    """The rows of the program's input: a number, a symbol, or the error of the export."""
    shapes = {"x": {0: told}} if told else None
    try:
        program = export(model, (torch.ones(4, 8),), dynamic_shapes=shapes)
    except torch._dynamo.exc.UserError:
        return "an error"
    program.module()(torch.ones(4, 8))
    (node,) = [node for node in program.graph.nodes if node.op == "placeholder"]
    size = str(node.meta["val"].shape[0])
    return size if size.isdigit() else "any"


NAMED = 'Dim("rows")'
WAYS = {"nothing": None, "Dim.AUTO": Dim.AUTO, "Dim.DYNAMIC": Dim.DYNAMIC, NAMED: Dim("rows")}
MODELS = (Sine(), AsksForFour())
table = {way: [rows_of(model, told) for model in MODELS] for way, told in WAYS.items()}
columns = ("what export is told", "Sine", "AsksForFour")
rows = [(way, *found) for way, found in table.items()]
tclab.show(tclab.Table("Rows that the program takes", "rows", columns, rows))

# claim: untold-a-size-is-the-examples
assert table["nothing"] == ["4", "4"]
# claim: auto-lets-the-model-decide
assert table["Dim.AUTO"] == ["any", "4"]
# claim: dynamic-and-a-name-make-it-an-error
assert table["Dim.DYNAMIC"] == table[NAMED] == ["any", "an error"]

example = (torch.ones(8), torch.tensor(3))
said = io.StringIO()
with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
    try:
        export(BranchesOnData(), example)
        refused = ""
    except Exception as error:
        refused = type(error).__name__
    program = draft_export(BranchesOnData(), example)
report = str(program._report)
taken = program.module()
# claim: draft-export-makes-a-program-where-export-raises
assert "DataDependent" in refused and torch.equal(taken(*example), BranchesOnData()(*example))
# claim: its-report-names-the-line
assert "number.item() > 2" in report and "Data dependent error" in report
try:
    taken(example[0], torch.tensor(1))
    other = "goes through"
except RuntimeError:
    other = "is refused"
# claim: the-other-branch-is-refused
assert other == "is refused"
