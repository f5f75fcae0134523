"""Parameters become inputs.

The graph of a module has no modules and no attributes. `self.lin.weight` is an input like
`x`. Its name says where the rewritten bytecode fetches it on each call. So a weight that an
optimizer updates needs no recompile.
"""

import torch

import tclab


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(16, 16)
        self.register_buffer("shift", torch.ones(16))

    def forward(self, x):
        return self.lin(x).relu() + self.shift


torch.manual_seed(0)
block = Block()
x = torch.randn(4, 16)
with tclab.capture() as c:
    compiled = torch.compile(block, backend="eager")
    before = compiled(x)
    with torch.no_grad():
        block.lin.weight.mul_(2)  # what an optimizer does
    after = compiled(x)

inputs = [n for n in c.graphs[0].nodes if n.op == "placeholder"]
# claim: parameters-are-inputs
assert len(inputs) == 4 and any("weight" in n.name for n in inputs)  # weight, bias, x, shift
# claim: a-new-weight-is-used
assert torch.equal(after, block(x)) and not torch.equal(before, after)
# claim: no-recompile-for-it
assert len(c.graphs) == 1 and not c.recompiles

tclab.show(c.graphs[0], name="graph")
