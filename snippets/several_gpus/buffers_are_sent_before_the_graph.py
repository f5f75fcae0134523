"""DDP's `broadcast_buffers`: sent before the forward, outside of the graph.

Two processes on this CPU, whose models differ in a buffer. The backend counts graphs and keeps the
names of what is called in them.
"""
# tclab: timeout=120

import contextlib

import torch
from _two import in_two
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import tclab


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)
        self.register_buffer("shift", torch.zeros(4))

    def forward(self, x):
        return self.lin(x) + self.shift


def call(rank, model, broadcast):
    """Graphs, the calls in them, and the buffer after a call; before it, it was `rank + 1`."""
    torch._dynamo.reset()
    calls = []

    def counted(graph, inputs):
        calls.append([n.name for n in graph.graph.nodes if n.op.startswith("call")])
        return graph.forward

    parallel = DistributedDataParallel(model, broadcast_buffers=broadcast)
    buffer = next(model.buffers())
    buffer.fill_(rank + 1)
    torch.compile(parallel, backend=counted)(torch.ones(2, 4))
    return len(calls), calls, buffer[0].item()


WAYS = {"broadcast_buffers=True": True, "broadcast_buffers=False": False}


def accumulated(rank):
    """The buffer after each of three calls, two of them under `no_sync`; before, `rank + 1`."""
    torch._dynamo.reset()
    parallel = DistributedDataParallel(Net())
    compiled, buffer, found = torch.compile(parallel, backend="eager"), parallel.module.shift, []
    for waits in (parallel.no_sync, parallel.no_sync, contextlib.nullcontext):
        buffer.fill_(rank + 1)
        with waits():
            compiled(torch.ones(2, 4)).sum().backward()
        found.append(buffer[0].item())
    return found


def both(rank):
    calls = {way: call(rank, Net(), broadcast) for way, broadcast in WAYS.items()}
    return calls | {"no_sync": accumulated(rank)}


first, second = in_two(both)
columns = ("way", "graphs", "calls in them", "buffer of rank 0", "buffer of rank 1")
rows = [(way, *first[way][:1], str(first[way][1]), first[way][2], second[way][2]) for way in WAYS]
tclab.show(tclab.Table("A compiled call, after buffers of 1 and 2", "buffers", columns, rows))
sent, kept = (second[way] for way in WAYS)
# claim: the-buffers-of-rank-0-arrive
assert sent[2] == 1 and kept[2] == 2
# claim: the-graph-is-the-same
assert sent[:2] == kept[:2] and sent[0] == 1
assert not any("broadcast" in name for graph in sent[1] for name in graph)
# claim: not-after-a-call-under-no-sync
assert second["no_sync"] == [1, 2, 2]
