"""An example of one row: what `torch.export` makes of the size that was to vary.

Nothing in the model asks for the number of rows. Sizes 0 and 1 are special: a symbol stands for two
and more, so an example of one row is traced as the number 1.
"""

import torch
from torch.export import Dim, export

import tclab


class Model(torch.nn.Module):
    def forward(self, x):
        return x.relu() * 2


def rows_of(example, told):
    """The rows that the program takes: a number, any, or the error of the export."""
    try:
        program = export(Model(), (torch.ones(example, 4),), dynamic_shapes={"x": {0: told}})
    except (torch._dynamo.exc.UserError, ValueError) as error:
        return "an error" if "speciali" in str(error) else str(error)
    (node,) = [node for node in program.graph.nodes if node.op == "placeholder"]
    size = str(node.meta["val"].shape[0])
    return size if size.isdigit() else "any"


NAMED = 'Dim("rows", min=1)'
WAYS = {"Dim.AUTO": Dim.AUTO, "Dim.DYNAMIC": Dim.DYNAMIC, NAMED: Dim("rows", min=1, max=32)}
EXAMPLES = (0, 1, 2)
table = {way: [rows_of(example, told) for example in EXAMPLES] for way, told in WAYS.items()}
columns = ("what export is told", *(f"example of {rows}" for rows in EXAMPLES))
rows = [(way, *found) for way, found in table.items()]
tclab.show(tclab.Table("Rows that the program takes", "rows", columns, rows))

# claim: auto-keeps-one-without-a-word
assert table["Dim.AUTO"][:2] == ["0", "1"]
# claim: a-range-that-has-one-is-refused
assert table[NAMED][1] == table["Dim.DYNAMIC"][1] == "an error"
# claim: an-example-of-two-varies
assert {found[2] for found in table.values()} == {"any"}
