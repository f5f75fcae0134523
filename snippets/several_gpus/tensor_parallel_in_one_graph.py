"""Tensor parallel under `fullgraph=True`: what of DTensor is left in Inductor's code.

Two processes on this CPU with gloo. The first layer is split by its columns, the second by its
rows, so each process multiplies by halves of the weights, and one sum puts the result together.
"""
# tclab: timeout=120

import re

import torch
from _two import in_two
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)

import tclab


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(32, 64, bias=False), nn.Linear(64, 32, bias=False)

    def forward(self, x):
        return self.down(torch.relu(self.up(x)))


def net():
    torch.manual_seed(0)
    return Net()


def batch():
    torch.manual_seed(1)
    return torch.randn(4, 32)


def product(x):
    return x.redistribute(placements=[Replicate()]).to_local() @ torch.ones(4, 4)


def collectives(wrapper):
    return re.findall(r"^ +[^#\n]*_c10d_functional\.(\w+)\.\w+\(", wrapper.code, re.M)


def job(rank):
    """Graphs, collectives forward and backward, result, gradients; then what a placement costs."""
    mesh = init_device_mesh("cpu", (2,))
    plan = {"up": ColwiseParallel(), "down": RowwiseParallel()}
    model = parallelize_module(net(), mesh, plan)
    with tclab.capture() as c:
        result = torch.compile(model, fullgraph=True)(batch())
        result.square().mean().backward()
    gradients = torch.cat([p.grad.full_tensor().flatten() for p in model.parameters()])
    forward, backward = (collectives(wrapper) for wrapper in c.wrapper)
    weights = [tuple(p.to_local().shape) for p in model.parameters()]
    made, fn = [], torch.compile(product, fullgraph=True)
    for placement in (Shard(0), Shard(0), Replicate()):
        with tclab.capture() as placed:
            fn(DTensor.from_local(torch.ones(4, 4), mesh, [placement], run_check=False))
        sent = [name for wrapper in placed.wrapper for name in collectives(wrapper)]
        made.append((sent or "no collective") if len(placed.graphs) else "no graph")
    return len(c.graphs), len(c.breaks), forward, backward, weights, result, gradients, made


first, second = in_two(job)
model = net()
alone = model(batch())
alone.square().mean().backward()
gradients = torch.cat([p.grad.flatten() for p in model.parameters()])
graphs, breaks, forward, backward, weights, result, mine, made = first
tclab.show(
    tclab.Table("Tensor parallel, rank 0 of two", "parallel", ("what", "found"), [
        ("graphs, breaks", f"{graphs}, {breaks}"), ("weights here", str(weights)),
        ("collectives, forward", ", ".join(forward)), ("backward", ", ".join(backward) or "none"),
        *((f"then {name} to Replicate()", str(how)) for name, how in
          zip(("Shard(0)", "Shard(0) again", "Replicate()"), made)),
    ])
)  # fmt: skip

# claim: one-graph-without-a-break
assert (graphs, breaks) == (1, 0)
# claim: products-of-halves
assert weights == [(32, 32), (32, 32)]
# claim: one-sum-in-the-forward
assert forward == ["all_reduce_", "wait_tensor"]
# claim: none-in-the-backward
assert backward == []
# claim: results-are-those-of-one-process
assert (result - alone).abs().max() < 1e-5 and torch.equal(result, second[5])
assert (mine - gradients).abs().max() < 1e-5 and torch.equal(mine, second[6])
# claim: another-placement-compiles-again
assert made[1] == "no graph" and "no graph" not in (made[0], made[2])
# claim: a-shard-is-gathered-in-the-graph
assert "all_gather_into_tensor" in made[0] and made[2] == "no collective"
