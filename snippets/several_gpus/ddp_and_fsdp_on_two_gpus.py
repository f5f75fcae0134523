"""DDP and FSDP on two GPUs through NCCL: graphs, gradients and the time of a step.

Eight blocks of width 2048 with bfloat16 autocast, 2048 rows on each GPU. Of the compiled ones,
Inductor writes the kernels. Gradients are compared with those of one process with both batches;
"off" is relative to their largest.
"""
# tclab: needs=cuda,triton alone=true timeout=300 memory=65536

import torch
from _two_gpus import in_two, milliseconds
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

import tclab

BLOCKS, SIZE, ROWS = 8, 2048, 2048


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.up = nn.LayerNorm(SIZE), nn.Linear(SIZE, 2 * SIZE)
        self.down = nn.Linear(2 * SIZE, SIZE)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


def net():
    torch.manual_seed(0)
    return nn.Sequential(*(Block() for _ in range(BLOCKS))).cuda()


def batch(rank):
    torch.manual_seed(rank)
    return torch.randn(ROWS, SIZE).cuda()


def loss(model, x):
    with torch.autocast("cuda", torch.bfloat16):
        return model(x).square().mean()


def ddp(compiled):
    model = DistributedDataParallel(net())
    return torch.compile(model) if compiled else model


def fsdp(compiled):
    model = net()
    for block in model:
        if compiled:
            block.compile()
        fully_shard(block)
    return fully_shard(model)


WAYS = {"DDP, eager": (ddp, False, True), "DDP, compiled": (ddp, True, True)}
WAYS |= {"DDP, compiled, optimize_ddp = False": (ddp, True, False)}
WAYS |= {"FSDP, eager": (fsdp, False, True), "FSDP, blocks compiled": (fsdp, True, True)}


def whole(gradient):
    return gradient.full_tensor() if hasattr(gradient, "full_tensor") else gradient


def both(rank):
    """For each way: graphs by stage, the gradients of the first step, ms of a later one."""
    x, told = batch(rank), {}
    for name, (wrap, compiled, split) in WAYS.items():
        torch._dynamo.reset()
        torch._dynamo.config.optimize_ddp = split
        model = wrap(compiled)
        with tclab.capture() as c:
            loss(model, x).backward()
        flat = torch.cat([whole(p.grad).flatten() for p in model.parameters()])
        counts = len(c.graphs), len(c.forward), len(c.backward)
        told[name] = *counts, flat.cpu(), milliseconds(lambda model=model: step(model, x))
    return told


def step(model, x):
    model.zero_grad()
    loss(model, x).backward()


if torch.cuda.device_count() < 2:
    raise SystemExit("this needs two GPUs")
first, second = in_two(both)
model = net()
sum(loss(model, batch(rank)) / 2 for rank in (0, 1)).backward()
alone = torch.cat([p.grad.flatten() for p in model.parameters()]).cpu()
off = {
    name: ((row[3] - alone).abs().max() / alone.abs().max()).item() for name, row in first.items()
}
columns = {"way": "", "graphs of Dynamo": "d", "forward": "d", "backward": "d"}
tclab.show(
    tclab.Table(
        title="A training step on two GPUs, rank 0",
        name="ways",
        columns=(*columns, "a step", "off"),
        units=("", "", "", "", "ms", ""),
        formats=(*columns.values(), ".2f", ".1e"),
        rows=[(name, *row[:3], row[4], off[name]) for name, row in first.items()],
    )
)
graphs = {name: row[:3] for name, row in first.items()}

# claim: dynamo-takes-one-graph-of-ddp
assert graphs["DDP, compiled"][0] == graphs["DDP, compiled, optimize_ddp = False"][0] == 1
# claim: it-is-cut-at-the-buckets
assert graphs["DDP, compiled"][2] > graphs["DDP, compiled, optimize_ddp = False"][2] == 1
# claim: equal-blocks-share-their-graphs
assert graphs["FSDP, blocks compiled"][0] < BLOCKS
# claim: both-gpus-have-the-same-gradients
assert all(torch.equal(first[name][3], second[name][3]) for name in WAYS)
# claim: they-are-those-of-one-process
assert max(off.values()) < 0.05
