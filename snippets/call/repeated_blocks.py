"""A block that is repeated: compile the whole, each block, or the whole with a region.

Six equal blocks. The whole is one graph with every block in it. Compiled one by one, the six share
one cache entry, because their code is one and their weights are inputs. A
`nested_compile_region` keeps one graph for the whole, in which the block stands once and is called.
"""

import torch

import tclab

N = 6


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.lin = torch.nn.LayerNorm(4), torch.nn.Linear(4, 4)

    def forward(self, x):
        return x + torch.relu(self.lin(self.norm(x)))


class Region(Block):
    @torch.compiler.nested_compile_region
    def forward(self, x):
        return super().forward(x)


class Net(torch.nn.Module):
    def __init__(self, block):
        super().__init__()
        self.blocks = torch.nn.ModuleList(block() for _ in range(N))

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


def graphs(block, way, gradients=False):
    """Dynamo's graphs, and the names of the parameters, of a net compiled in one way."""
    torch._dynamo.reset()
    torch.manual_seed(0)
    net, x = Net(block), torch.randn(2, 4)
    with torch.set_grad_enabled(gradients), tclab.capture() as c:
        expected = net(x)
        if way == "each":
            for each in net.blocks:
                each.compile(backend="eager")
        compiled = net if way == "each" else torch.compile(net, backend="eager")
        torch.testing.assert_close(compiled(x), expected)
    return c, list(net.state_dict())


whole, _ = graphs(Block, "whole")
each, names = graphs(Block, "each")
region, _ = graphs(Region, "whole")
training, _ = graphs(Block, "each", gradients=True)
nets = {"whole": whole, "each": each, "training": training, "region": region}
layers = {name: c.graphs[0].code.count("layer_norm(") for name, c in nets.items()}
# claim: the-whole-holds-every-block
assert len(whole.graphs) == 1 and layers["whole"] == N
# claim: six-blocks-share-one-entry
assert len(each.graphs) == 1 and len(each.recompiles.recompiles) == 0 and layers["each"] == 1
# claim: with-gradients-the-first-differs
assert len(training.graphs) == 2 and len(training.recompiles.recompiles) == 1
assert "requires_grad" in "".join(training.recompiles.recompiles[0].reasons)
# claim: names-stay-with-compile-in-place
assert names[0] == "blocks.0.norm.weight"
# claim: a-region-is-called
assert len(region.graphs) == layers["region"] == 1
assert region.graphs[0].code.count("invoke_subgraph(") >= N

rows = [
    (what, len(c.graphs), len(c.graphs[0]), layers[name])
    for what, name, c in (
        ("the whole", "whole", whole),
        ("each block, block.compile()", "each", each),
        ("each block, with gradients", "training", training),
        ("the whole, blocks as regions", "region", region),
    )
]
columns = ("what is compiled", "graphs", "operations of the first", "layer norms in its text")
tclab.show(tclab.Table(f"{N} equal blocks", "blocks", columns, rows))
