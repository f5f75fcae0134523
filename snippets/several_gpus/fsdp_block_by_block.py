"""FSDP: each block compiled for itself, its weights in halves.

Two processes on this CPU. `fully_shard` leaves half of each weight on each process. Hooks gather
the whole before a block runs and free it afterwards; they stay outside the compiled blocks. In the
last column: how far the gradients are from those of one process with both batches.
"""
# tclab: timeout=120

import torch
from _two import in_two
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

import tclab

BLOCKS, SIZE = 4, 64


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(SIZE, SIZE)

    def forward(self, x):
        return x + torch.relu(self.linear(x))


def net():
    torch.manual_seed(0)
    return nn.Sequential(*(Block() for _ in range(BLOCKS)))


def batch(rank):
    torch.manual_seed(rank)
    return torch.randn(4, SIZE)


def step(rank, way):
    """Graphs, breaks and recompiles of one training step, a shard's shape, the whole gradients."""
    torch._dynamo.reset()
    model, two = net(), init_device_mesh("cpu", (2,))  # also where there is a GPU
    for block in model:
        if way == "each block":
            block.compile(backend="aot_eager")
        fully_shard(block, mesh=two)
    fully_shard(model, mesh=two)
    with tclab.capture() as c:
        model(batch(rank)).square().mean().backward()
    shard = tuple(model[0].linear.weight.to_local().shape)
    gradients = [p.grad.full_tensor().flatten() for p in model.parameters()]
    why = " ".join(reason for each in c.recompiles.recompiles for reason in each.reasons)
    return len(c.graphs), len(c.breaks), shard, torch.cat(gradients), why


WAYS = ("eager", "each block")
first, second = in_two(lambda rank: {way: step(rank, way) for way in WAYS})
model = net()
sum(model(batch(rank)).square().mean() / 2 for rank in (0, 1)).backward()
alone = torch.cat([p.grad.flatten() for p in model.parameters()])
off = {way: (row[3] - alone).abs().max().item() for way, row in first.items()}
tclab.show(
    tclab.Table(
        title=f"{BLOCKS} blocks, rank 0 of two",
        name="blocks",
        columns=("compiled", "graphs", "breaks", "a weight on one process", "off"),
        formats=("", "d", "d", "", ".1e"),
        rows=[(way, *row[:2], str(row[2]), off[way]) for way, row in first.items()],
    )
)
eager, blocks = first.values()

# claim: each-process-holds-half
assert eager[2] == blocks[2] == (SIZE // 2, SIZE)
# claim: no-break-for-the-hooks
assert blocks[1] == 0
# claim: equal-blocks-share-their-graphs
assert blocks[0] == 2 < BLOCKS
# claim: the-second-is-for-the-gradient
assert "requires_grad" in blocks[4]
# claim: both-ranks-have-the-same-gradients
assert second["each block"][0] == 2 and torch.equal(blocks[3], second["each block"][3])
# claim: they-are-those-of-one-process
assert max(off.values()) < 1e-6
