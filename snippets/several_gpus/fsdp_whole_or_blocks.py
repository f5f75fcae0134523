"""FSDP: the whole model compiled, or its blocks; then checkpointing and bfloat16 around them.

Two processes on this CPU. The bytes saved are activations, not weights. Products are those of the
forward in a later step, with those that the backward makes again. Gathers are the times that a
process asks for the whole of a block's weights. In the last column: how far the gradients are from
those of one process with both batches.
"""
# tclab: timeout=180

import torch
import torch.distributed.fsdp._fully_shard._fsdp_param_group as groups
from _two import in_two
from torch import nn
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.profiler import profile

import tclab

BLOCKS, SIZE, ROWS = 4, 64, 5


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(SIZE, 2 * SIZE), nn.Linear(2 * SIZE, SIZE)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(x)).sin())


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(BLOCKS))

    def forward(self, x):
        x = torch.cos(x)
        for block in self.blocks:
            x = block(x)
        return torch.tanh(x)


def net():
    torch.manual_seed(0)
    return Net()


def batch(rank):
    torch.manual_seed(rank)
    return torch.randn(ROWS, SIZE)


def built(way, mesh):
    """The model, compiled and wrapped as the words of `way` say, from the inside out."""
    model, words = net(), way.split(", ")
    policy = MixedPrecisionPolicy(torch.bfloat16 if "bfloat16" in words else None)
    for number, block in enumerate(model.blocks):
        for word in words:
            if word == "compile blocks":
                block.compile(backend="aot_eager")
            elif word == "checkpoint":
                block = checkpoint_wrapper(block)
            elif word == "shard" and mesh:
                fully_shard(block, mesh=mesh, mp_policy=policy)
        model.blocks[number] = block
    if mesh:
        fully_shard(model, mesh=mesh, mp_policy=policy)
    if "compile whole" in words:
        model.compile(backend="aot_eager")
    return model


def step(rank, way, shard=True):
    """What was compiled in one training step, what it saved and gathered, and the gradients."""
    torch._dynamo.reset()
    model = built(way, init_device_mesh("cpu", (2,)) if shard else None)
    saved, gathers, gather = [], [], groups.foreach_all_gather
    groups.foreach_all_gather = lambda *a, **k: (gathers.append(1), gather(*a, **k))[1]
    hooks = torch.autograd.graph.saved_tensors_hooks(lambda t: (saved.append(t), t)[1], lambda t: t)
    with tclab.capture() as c:
        with hooks:
            loss = model(batch(rank)).square().mean()
        loss.backward()
    groups.foreach_all_gather = gather
    parts = (getattr(p.grad, "full_tensor", lambda p=p: p.grad)() for p in model.parameters())
    gradients = torch.cat([part.flatten() for part in parts])
    with profile() as seen:
        model(batch(rank)).square().mean().backward()
    kept = sum(t.nbytes for t in saved if t.ndim == 2 and t.shape[0] == ROWS)
    products = sum(event.count for event in seen.key_averages() if event.key == "aten::addmm")
    return (len(c.graphs), len(c.breaks), sum(map(len, c.graphs)), kept, products, len(gathers),
            gradients)  # fmt: skip


WAYS = ("shard", "compile whole, shard", "compile blocks, shard", "shard, compile blocks",
        "compile blocks, shard, bfloat16", "checkpoint, shard",
        "checkpoint, compile blocks, shard", "compile blocks, checkpoint, shard",
        "compile blocks, shard, checkpoint")  # fmt: skip
first, second = in_two(lambda rank: {way: step(rank, way) for way in WAYS})
unsharded = step(0, "compile whole", shard=False)
model = net()
sum(model(batch(rank)).square().mean() / 2 for rank in (0, 1)).backward()
alone = torch.cat([p.grad.flatten() for p in model.parameters()])
off = {way: (row[6] - alone).abs().max().item() for way, row in first.items()}
columns = ("from the inside out", "graphs", "breaks", "operations", "saved", "products", "gathers")
tclab.show(
    tclab.Table(
        title=f"A training step of {BLOCKS} blocks, rank 0 of two",
        name="ways",
        columns=(*columns, "off"),
        units=("", "", "", "", "bytes", "", "", ""),
        formats=("", "d", "d", "d", ",d", "d", "d", ".1e"),
        rows=[
            *((way, *row[:6], off[way]) for way, row in first.items()),
            ("compile whole, one process", *unsharded[:6], None),
        ],
    )
)
eager, whole, blocks, late, half, again, inside, outside, outmost = first.values()

# claim: the-whole-breaks-at-its-loop
assert whole[1] == 1 and unsharded[:2] == (1, 0)
# claim: and-only-the-blocks-are-compiled
assert whole[0] == blocks[0] == 2 and whole[2] == blocks[2] < unsharded[2]
# claim: shard-before-or-after-is-the-same
assert late[:6] == blocks[:6]
# claim: bfloat16-adds-no-operation
assert half[:3] == blocks[:3] and half[3] == blocks[3] / 2
# claim: a-checkpoint-saves-less-in-any-order
assert again[3] == inside[3] == outside[3] == outmost[3] < blocks[3] < eager[3]
# claim: around-the-compiled-block-all-is-computed-again
assert outside[4] == outmost[4] == again[4] == 2 * blocks[4]
# claim: within-it-what-the-backward-needs
assert blocks[4] < inside[4] < outside[4]
# claim: weights-are-gathered-as-often
assert {row[5] for row in first.values()} == {2 * BLOCKS}
# claim: both-ranks-have-the-same-gradients
assert all(torch.equal(first[way][6], second[way][6]) for way in WAYS)
assert all(bool(second[way][0]) == ("compile" in way) for way in WAYS)
# claim: they-are-those-of-one-process
assert max(value for way, value in off.items() if "bfloat16" not in way) < 1e-6
# claim: in-bfloat16-near-them
assert off["compile blocks, shard, bfloat16"] < 0.05 * alone.abs().max()
