"""FSDP on two GPUs: whole or block by block, and a checkpoint within or around the compiled block.

Equal blocks computed in bfloat16, the same number of rows on each GPU. The memory is the most that
was allocated in a step. In the last column: how far the gradients are from those of one process
with both batches, relative to their largest. Where there are not two GPUs, the same file runs
smaller, on a CPU through gloo, and without Inductor.
"""
# tclab: needs=cuda,two_gpus,triton alone=true timeout=300 memory=65536

import hashlib

import torch
from _two_gpus import DEVICE, in_two, milliseconds, names
from torch import nn
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

import tclab

BLOCKS, SIZE, ROWS = (8, 2048, 8192) if DEVICE == "cuda" else (4, 64, 8)
BACKEND = "inductor" if DEVICE == "cuda" else "aot_eager"


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.up = nn.LayerNorm(SIZE), nn.Linear(SIZE, 4 * SIZE)
        self.down = nn.Linear(4 * SIZE, SIZE)

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


def built(way, mesh):
    """The model, compiled and wrapped as the words of `way` say, from the inside out."""
    model, words = net(), way.split(", ")
    policy = {"mesh": mesh, "mp_policy": MixedPrecisionPolicy(torch.bfloat16, torch.float32)}
    for number, block in enumerate(model.blocks):
        for word in words:
            if word == "compile blocks":
                block.compile(backend=BACKEND)
            elif word == "checkpoint":
                block = checkpoint_wrapper(block)
            elif word == "shard":
                fully_shard(block, **policy)
        model.blocks[number] = block
    fully_shard(model, **policy)
    if "compile whole" in words:
        model.compile(backend=BACKEND)
    return model


WAYS = ("shard", "compile whole, shard", "compile blocks, shard", "checkpoint, shard",
        "checkpoint, compile blocks, shard", "compile blocks, checkpoint, shard")  # fmt: skip


def step(model, x):
    model.zero_grad()
    model(x).float().square().mean().backward()


def of_one_process():
    """The gradients of one process with both batches."""
    model = net()
    sum(model(batch(rank)).square().mean() / 2 for rank in (0, 1)).backward()
    return torch.cat([p.grad.flatten() for p in model.parameters()]).cpu()


def both(rank):
    """For each way: graphs, breaks, the gradients' digest, MiB at most, ms of a later step, off."""
    x, rows, mesh, alone = batch(rank), {}, init_device_mesh(DEVICE, (2,)), of_one_process()
    for way in WAYS:
        torch._dynamo.reset()
        with tclab.capture() as c:
            model = built(way, mesh)
            step(model, x)
        flat = torch.cat([p.grad.full_tensor().flatten() for p in model.parameters()]).cpu()
        took, most = milliseconds(lambda model=model: step(model, x)), 0.0
        if DEVICE == "cuda":
            torch.cuda.reset_peak_memory_stats()
            step(model, x)
            most = torch.cuda.max_memory_allocated() / 2**20
        digest = hashlib.sha256(flat.numpy().tobytes()).hexdigest()
        off = ((flat - alone).abs().max() / alone.abs().max()).item()
        rows[way] = len(c.graphs), len(c.breaks), digest, most, took, off
        del model
    return rows


first, second = in_two(both)
columns = {"from the inside out": "", "graphs": "d", "breaks": "d", "most memory": ".0f"}
columns |= {"a step": ".2f", "off": ".1e"}
tclab.show(
    tclab.Table(
        title="A training step, rank 0 of two",
        name="ways",
        columns=tuple(columns),
        units=("", "", "", "MiB", "ms", ""),
        formats=tuple(columns.values()),
        rows=[(way, *row[:2], *row[3:]) for way, row in first.items()],
        caption=f"{names()}; {BLOCKS} blocks of width {SIZE}, {ROWS} rows a process",
    )
)
_, whole, blocks, *_ = first.values()

# claim: both-gpus-end-with-the-same-gradients
assert all(first[way][2] == second[way][2] for way in WAYS)
# claim: they-are-near-those-of-one-process
assert max(row[5] for row in first.values()) < 0.1
# claim: the-whole-breaks-at-its-loop
assert whole[1] == 1 and blocks[1] == 0
# claim: and-compiles-the-blocks-alone
assert whole[0] == blocks[0] < BLOCKS
