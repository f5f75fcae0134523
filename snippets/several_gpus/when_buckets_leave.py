"""DDP: when a bucket leaves, in the order of one backward.

Two processes on this CPU, four layers of 1 MiB, a bucket for each. *graph* is the end of a compiled
backward graph, *bucket* a call of DDP's communication hook, which sends one bucket. The step before
it was the same, since DDP orders its buckets in the first one.
"""
# tclab: timeout=120

import torch
from _two import in_two
from torch import nn
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.aot_autograd import make_boxed_func
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
from torch.nn.parallel import DistributedDataParallel

import tclab

LAYERS, SIZE = 4, 512


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(SIZE, SIZE) for _ in range(LAYERS))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def order(rank, compiles, split):
    """What ended and what left, in one backward; and the gradients."""
    torch._dynamo.reset()
    torch._dynamo.config.optimize_ddp = split
    torch.manual_seed(0)
    events = []
    model = Net()
    parallel = DistributedDataParallel(model, bucket_cap_mb=1)

    def leaves(group, bucket):
        events.append("bucket")
        return allreduce_hook(group, bucket)

    def backward_graph(graph, example_inputs):
        def run(*args):
            result = graph(*args)
            events.append("graph")
            return result

        return make_boxed_func(run)

    parallel.register_comm_hook(None, leaves)
    backend = aot_autograd(fw_compiler=lambda g, _: make_boxed_func(g), bw_compiler=backward_graph)
    fn = torch.compile(parallel, backend=backend) if compiles else parallel
    torch.manual_seed(rank)
    x = torch.randn(4, SIZE)
    for _ in range(2):
        events.clear()
        parallel.zero_grad()
        fn(x).square().mean().backward()
    return events, torch.cat([p.grad.flatten() for p in model.parameters()])


WAYS = {"eager": (False, True), "cut at the buckets": (True, True), "not cut": (True, False)}
first, second = in_two(lambda rank: {name: order(rank, *way) for name, way in WAYS.items()})
rows = [(name, ", ".join(events)) for name, (events, _) in first.items()]
tclab.show(
    tclab.Table("One backward, rank 0 of two", "order", ("graph", "what ends or leaves"), rows)
)
eager, cut, whole = (events for events, _ in first.values())

# claim: cut-buckets-leave-between-graphs
assert cut.count("graph") == LAYERS and cut.index("bucket") < len(cut) - 1 - cut[::-1].index(
    "graph"
)
# claim: not-cut-all-leave-after-the-only-graph
assert whole[0] == "graph" and whole.count("graph") == 1 and set(whole[1:]) == {"bucket"}
# claim: gradients-agree
assert all(torch.allclose(g, first["eager"][1], atol=1e-6) for _, g in first.values())
assert all(torch.equal(first[name][1], second[name][1]) for name in WAYS)
