"""A model of equal blocks: compiled whole, and block by block.

Counted are operations that the compiler had to handle, and kernels that one forward pass calls.
Block by block there are two graphs, however many blocks: the input of the first block needs no
gradient, that of the others does.
"""

import torch
from torch import nn

import tclab


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.linear = nn.LayerNorm(32), nn.Linear(32, 32)

    def forward(self, x):
        return x + torch.relu(self.linear(self.norm(x)))


def measured(blocks, regional):
    """Graphs, operations, kernels compiled, kernels called in one pass, and why it recompiled."""
    torch.manual_seed(0)
    model, x = nn.Sequential(*(Block() for _ in range(blocks))), torch.randn(8, 32)
    expected = model(x)
    if regional:
        for block in model:
            block.compile()
        torch._dynamo.reset()
        with tclab.capture() as c:
            result = model(x)
    else:
        c = tclab.capture(model)(x)
        result = c.result
    torch.testing.assert_close(result, expected)
    kernels = [len(unit.kernels) for unit in c.units]
    called = kernels[0] + kernels[-1] * (blocks - 1) if regional else kernels[0]
    why = "".join(reason for r in c.recompiles.recompiles for reason in r.reasons)
    return len(c.graphs), sum(map(len, c.forward)), sum(kernels), called, why


measures = {
    (way, blocks): measured(blocks, way == "regional")
    for way in ("whole", "regional")
    for blocks in (2, 4)
}
rows = [(f"{way}, {blocks}", *row[:-1]) for (way, blocks), row in measures.items()]
tclab.show(
    tclab.Table(
        title="Compiled whole and block by block",
        name="ways",
        columns=("blocks", "graphs", "operations", "kernels compiled", "kernels in a pass"),
        rows=rows,
    )
)
whole_2, whole_4, regional_2, regional_4 = measures.values()

# claim: whole-grows-with-the-blocks
assert whole_4[1] > 1.5 * whole_2[1] and whole_4[2] > whole_2[2]
# claim: regional-does-not
assert regional_4[:3] == regional_2[:3] and regional_4[0] == 2
# claim: the-second-is-for-the-gradient
assert "requires_grad" in regional_4[4]
# claim: whole-calls-fewer-kernels
assert whole_4[3] < regional_4[3]
