"""Calls of torch.distributed under `fullgraph=True`: in the graph, or a break.

A process group of the kind `fake`, which sends nothing. The backend keeps the names in the graph.
"""

import torch
import torch.distributed as dist
from torch.testing._internal.distributed.fake_pg import FakeStore

import tclab

dist.init_process_group("fake", store=FakeStore(), rank=1, world_size=4)


def all_reduce(x):
    dist.all_reduce(x)
    return x * 2


def all_gather_into_tensor(x):
    full = x.new_empty(32, 4)
    dist.all_gather_into_tensor(full, x)
    return full * 2


def reduce_scatter_tensor(x):
    part = x.new_empty(2, 4)
    dist.reduce_scatter_tensor(part, x)
    return part * 2


def all_to_all_single(x):
    other = torch.empty_like(x)
    dist.all_to_all_single(other, x)
    return other * 2


def all_reduce_async(x):
    work = dist.all_reduce(x, async_op=True)
    work.wait()
    return x * 2


def broadcast(x):
    dist.broadcast(x, 0)
    return x * 2


def barrier(x):
    dist.barrier()
    return x * 2


def isend(x):
    dist.isend(x, 2).wait()
    return x * 2


def get_rank(x):
    return x * (dist.get_rank() + 4)


def traced(fn):
    """The names in the graph, and what the compile said where there is none."""
    torch._dynamo.reset()
    graphs = []

    def kept(graph, inputs):
        graphs.append(graph)
        return graph.forward

    try:
        torch.compile(fn, fullgraph=True, backend=kept)(torch.ones(8, 4))
    except torch._dynamo.exc.Unsupported as error:
        return [], str(error).splitlines()[0]
    (graph,) = graphs
    targets = [n.target for n in graph.graph.nodes if n.op[:4] == "call"]
    return [getattr(t, "__name__", str(t)).rpartition(".")[2] for t in targets], ""


TRACED = (all_reduce, all_gather_into_tensor, reduce_scatter_tensor, all_to_all_single)
BREAKS = (all_reduce_async, broadcast, barrier, isend)
found = {fn: traced(fn) for fn in (*TRACED, *BREAKS, get_rank)}
rows = [(fn.__name__, ", ".join(names), why)
        for fn, (names, why) in found.items()]  # fmt: skip
tclab.show(tclab.Table("Calls of torch.distributed", "calls", ("call", "graph", "break"), rows))

# claim: these-are-in-the-graph
assert all(fn.__name__ in found[fn][0] for fn in TRACED)
# claim: each-is-waited-for-at-once
assert all(
    found[fn][0][found[fn][0].index(fn.__name__) + 1] == "wait_tensor" for fn in TRACED
)
# claim: async-op-is-a-break
assert "async_op=True" in found[all_reduce_async][1]
# claim: these-break
assert all(found[fn][1] and not found[fn][0] for fn in BREAKS)
# claim: the-rank-is-a-number-in-the-graph
assert len(found[get_rank][0]) == 1 and "mul" in found[get_rank][0][0]
