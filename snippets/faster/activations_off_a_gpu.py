"""Activation offload on a GPU: the memory of a step with and without.

A chain of sixteen blocks, 256 MiB between two of them, compiled as one region. `held` is what lies
on the GPU between forward and backward, `peak` the most of the whole step. It is the second step,
so compiling is not in it.
"""
# tclab: needs=cuda,triton timeout=180 memory=49152

from contextlib import nullcontext

import torch
from _offload import data, hooks_that_keep_strides, net, offloading

import tclab

inputs = data(16, 65536, 1024, "cuda")


def step(compiled):
    """MiB held before the backward."""
    for tensor in inputs:
        tensor.grad = None
    loss = compiled(*inputs)
    held = torch.cuda.memory_allocated() / 2**20
    loss.backward()
    return held


def measured(setting, around):
    """MiB held, MiB at the peak, ms of a step; the input's gradient."""
    torch._dynamo.reset()
    compiled = torch.compile(net)
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    with setting, around:
        step(compiled)
        torch.cuda.reset_peak_memory_stats()
        begin.record()
        held = step(compiled)
        end.record()
    end.synchronize()
    peak = torch.cuda.max_memory_allocated() / 2**20
    return held, peak, begin.elapsed_time(end), inputs[0].grad.cpu()


WAYS = {
    "compiled": measured(nullcontext(), nullcontext()),
    "hooks around it": measured(nullcontext(), hooks_that_keep_strides()),
    "offloaded inside it": measured(offloading(marked=True), nullcontext()),
}
tclab.show(
    tclab.Table(
        title="Memory of a training step",
        name="memory",
        columns=("way", "held", "peak", "a step"),
        units=("", "MiB", "MiB", "ms"),
        formats=("", ",.0f", ",.0f", ".0f"),
        rows=[(way, *row[:3]) for way, row in WAYS.items()],
    )
)
plain, around, inside = WAYS.values()
off = max((plain[3] - row[3]).abs().max() / plain[3].abs().max() for row in (around, inside))

# claim: both-hold-less-until-the-backward
assert max(around[0], inside[0]) < 0.6 * plain[0]
# claim: around-one-region-the-peak-stays
assert around[1] > 0.75 * plain[1]
# claim: inside-it-the-peak-falls
assert inside[1] < 0.8 * plain[1]
# claim: the-copies-cost-time
assert min(around[2], inside[2]) > 1.1 * plain[2]
# claim: the-gradients-are-the-same
assert off < 1e-3
