"""The memory a CUDA graph keeps after the call has ended.

A chain of matrix products makes temporaries of 64 MiB each. Bytes are PyTorch's own counts after
everything that the program holds itself was deleted, but for input and weight.
"""
# tclab: needs=cuda,triton

import gc

import torch

import tclab

MIB = 2**20


def chain(x, w):
    for _ in range(6):
        x = torch.relu(x @ w) + x.sum()
    return x.sum()


x, w = torch.randn(16384, 1024, device="cuda"), torch.randn(1024, 1024, device="cuda") * 0.01
held = {}
for mode in (None, "reduce-overhead"):
    torch._dynamo.reset()
    gc.collect()
    torch.cuda.empty_cache()
    before = torch.cuda.memory_reserved()
    compiled = torch.compile(chain, mode=mode)
    for _ in range(4):
        torch.compiler.cudagraph_mark_step_begin()
        float(compiled(x, w))
    gc.collect()
    torch.cuda.empty_cache()
    held[mode or "default"] = (torch.cuda.memory_reserved() - before) / MIB

tclab.show(tclab.Table(
    title="Memory still reserved between calls", name="memory",
    columns=("mode", "reserved"), units=("", "MiB"), formats=("", ".0f"), rows=list(held.items()),
))  # fmt: skip

# claim: a-graph-keeps-its-temporaries
assert held["reduce-overhead"] >= held["default"] + 64, held
