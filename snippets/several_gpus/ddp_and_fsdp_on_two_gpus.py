"""DDP and FSDP on two GPUs through NCCL: graphs, gradients, the time of a step.

Equal blocks under autocast to bfloat16, the same number of rows on each GPU; Inductor writes the
kernels. In the last column: how far the gradients are from those of one process with both batches,
relative to their largest. Where there are not two GPUs, the same file runs smaller, on a CPU
through gloo, and without Inductor.
"""
# tclab: needs=cuda,two_gpus,triton alone=true timeout=300 memory=65536

import torch
from _two_gpus import DEVICE, in_two, milliseconds, names
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

import tclab

BLOCKS, SIZE, ROWS = (8, 2048, 2048) if DEVICE == "cuda" else (4, 512, 8)
BACKEND = "inductor" if DEVICE == "cuda" else "aot_eager"


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.up = nn.LayerNorm(SIZE), nn.Linear(SIZE, 2 * SIZE)
        self.down = nn.Linear(2 * SIZE, SIZE)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(BLOCKS))

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


def net():
    torch.manual_seed(0)
    return Net().to(DEVICE)


def batch(rank):
    torch.manual_seed(rank)
    return torch.randn(ROWS, SIZE).to(DEVICE)


def loss(model, x):
    with torch.autocast(DEVICE, torch.bfloat16):
        return model(x).square().mean()


def ddp(compiled):
    model = DistributedDataParallel(net())
    return torch.compile(model, backend=BACKEND) if compiled else model


def fsdp(compiled):
    model = net()
    for block in model.blocks:
        if compiled:
            block.compile(backend=BACKEND)
        fully_shard(block)
    return fully_shard(model)


WAYS = {"DDP, eager": (ddp, False, True), "DDP, compiled": (ddp, True, True)}
WAYS |= {"DDP, compiled, optimize_ddp = False": (ddp, True, False)}
WAYS |= {"FSDP, eager": (fsdp, False, True), "FSDP, blocks compiled": (fsdp, True, True)}


def step(model, x):
    model.zero_grad()
    loss(model, x).backward()


def both(rank):
    """For each way: graphs of each stage, the gradients of the first step, ms of a later one."""
    x, rows = batch(rank), {}
    for name, (wrap, compiled, split) in WAYS.items():
        torch._dynamo.reset()
        torch._dynamo.config.optimize_ddp = split
        with tclab.capture() as c:
            model = wrap(compiled)
            step(model, x)
        parts = (p.grad for p in model.parameters())
        flat = torch.cat([getattr(g, "full_tensor", lambda g=g: g)().flatten() for g in parts])
        counts = len(c.graphs), len(c.forward), len(c.backward)
        rows[name] = *counts, flat.cpu(), milliseconds(lambda model=model: step(model, x))
    return rows


first, second = in_two(both)
model = net()
sum(loss(model, batch(rank)) / 2 for rank in (0, 1)).backward()
alone = torch.cat([p.grad.flatten() for p in model.parameters()]).cpu()
off = {n: ((row[3] - alone).abs().max() / alone.abs().max()).item() for n, row in first.items()}
columns = {"way": "", "graphs of Dynamo": "d", "forward": "d", "backward": "d"}
columns |= {"a step": ".2f", "off": ".1e"}
tclab.show(
    tclab.Table(
        title="A training step, rank 0 of two",
        name="ways",
        columns=tuple(columns),
        units=("", "", "", "", "ms", ""),
        formats=tuple(columns.values()),
        rows=[(name, *row[:3], row[4], off[name]) for name, row in first.items()],
        caption=f"{names()}; {BLOCKS} blocks of width {SIZE}, {ROWS} rows a process",
    )
)
(_, cut, whole, _, blocks) = (row[:3] for row in first.values())

# claim: both-gpus-end-with-the-same-gradients
assert all(torch.equal(first[name][3], second[name][3]) for name in WAYS)
# claim: they-are-near-those-of-one-process
assert max(off.values()) < 0.05
# claim: both-gpus-compile-the-same-graphs
assert all(first[name][:3] == second[name][:3] for name in WAYS)
# claim: dynamo-takes-one-graph-of-ddp
assert cut[0] == whole[0] == 1
# claim: it-is-cut-at-the-buckets
assert min(cut[1:]) > 1
# claim: without-the-cut-there-is-one
assert whole[1:] == (1, 1)
# claim: equal-blocks-share-their-graphs
assert 1 <= blocks[0] < BLOCKS
