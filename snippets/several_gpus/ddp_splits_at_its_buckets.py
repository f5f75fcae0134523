"""DDP: one graph of Dynamo's, cut where a bucket of gradients is full.

Two processes on this CPU. DDP sends gradients in buckets, each as soon as the backward has filled
it. A backward in one piece would fill them all at its end, so the graph is cut at their borders. In
the last column: how far the gradients are from those of one process with both batches.
"""
# tclab: timeout=120

import torch
from _two import in_two
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import tclab

LAYERS, SIZE = 4, 512  # one layer's weights are 1 MiB of float32


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(SIZE, SIZE) for _ in range(LAYERS))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def net():
    torch.manual_seed(0)
    return Net()


def batch(rank):
    torch.manual_seed(rank)
    return torch.randn(4, SIZE)


def step(rank, megabytes, split):
    """What was compiled on this rank for one training step, and the gradients it ended with."""
    torch._dynamo.reset()
    torch._dynamo.config.optimize_ddp = split
    model = net()
    with tclab.capture() as c:
        parallel = DistributedDataParallel(model, bucket_cap_mb=megabytes)
        torch.compile(parallel, backend="aot_eager")(batch(rank)).square().mean().backward()
    gradients = torch.cat([p.grad.flatten() for p in model.parameters()])
    places = [line for found in c.breaks.breaks for line in found.stack]
    here = sum(line.file.endswith("ddp_splits_at_its_buckets.py") for line in places)
    return len(c.graphs), len(c.forward), len(c.backward), gradients, len(places), here


def too_small(rank):
    """What is said of buckets smaller than the first, which is 1 MiB."""
    torch._dynamo.config.optimize_ddp = True
    parallel = DistributedDataParallel(net(), bucket_cap_mb=0.5)
    try:
        torch.compile(parallel, backend="aot_eager")(batch(rank))
    except Exception as error:
        return str(error)


WAYS = {
    "25 MiB, the default": (25, True),
    "1 MiB": (1, True),
    "1 MiB, optimize_ddp = False": (1, False),
}
first, second = in_two(lambda rank: {name: step(rank, *way) for name, way in WAYS.items()})
refused, _ = in_two(too_small)
model = net()
sum(model(batch(rank)).square().mean() / 2 for rank in (0, 1)).backward()
alone = torch.cat([p.grad.flatten() for p in model.parameters()])
off = {name: (row[3] - alone).abs().max().item() for name, row in first.items()}
tclab.show(
    tclab.Table(
        title="One training step, rank 0 of two",
        name="buckets",
        columns=("bucket", "graphs of Dynamo", "forward graphs", "backward graphs", "off"),
        formats=("", "d", "d", "d", ".1e"),
        rows=[(name, *row[:3], off[name]) for name, row in first.items()],
    )
)
large, small, whole = (row[:3] for row in first.values())

# claim: dynamo-takes-one-graph
assert {row[0] for row in first.values()} == {1}
# claim: a-bucket-for-each-layer-is-a-graph-for-each
assert small[1:] == (LAYERS, LAYERS)
# claim: the-first-bucket-is-small
assert large[1:] == (2, 2)
# claim: without-the-cut-there-is-one
assert whole[1:] == (1, 1)
# claim: breaks-are-in-the-wrapper-alone
assert all(places and not here for *_, places, here in first.values())
# claim: buckets-below-the-first-are-refused
assert "First bucket should be smaller" in (refused or "")
# claim: both-ranks-have-the-same-gradients
assert all(second[way][0] and torch.equal(first[way][3], second[way][3]) for way in WAYS)
# claim: they-are-those-of-one-process
assert max(off.values()) < 1e-6
