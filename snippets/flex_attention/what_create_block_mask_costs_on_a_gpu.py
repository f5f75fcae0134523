"""create_block_mask on a GPU, as it is and compiled: time and memory by length.

A causal mask, without batch or heads. As it is, the function makes the whole matrix of query and
key and then counts its blocks; the peak is PyTorch's own count. The last column is one call of
FlexAttention with that mask, 16 heads of 64 in bfloat16.
"""
# tclab: needs=cuda,triton alone=true timeout=400 memory=16384

import statistics
import time

import torch
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

import tclab

MIB = 2**20


def causal(batch, head, query, key):
    return query >= key


def measured(call, calls=7):
    """Milliseconds of a call, the GPU's end included, and MiB that it needs at most."""
    call()
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    taken = []
    for _ in range(calls):
        begin = time.perf_counter()
        call()
        torch.cuda.synchronize()
        taken.append(1e3 * (time.perf_counter() - begin))
    return statistics.median(taken), (torch.cuda.max_memory_allocated() - before) / MIB


torch.set_grad_enabled(False)
compiled = torch.compile(create_block_mask)
attention = torch.compile(flex_attention)
rows = []
for length in (1024, 4096, 16384, 32768):
    args = (causal, None, None, length, length)
    mine, its = create_block_mask(*args, device="cuda"), compiled(*args, device="cuda")
    assert torch.equal(mine.to_dense(), its.to_dense())
    qkv = torch.randn(3, 1, 16, length, 64, device="cuda", dtype=torch.bfloat16)
    rows.append((
        length, *measured(lambda: create_block_mask(*args, device="cuda")),
        *measured(lambda: compiled(*args, device="cuda")),
        measured(lambda: attention(*qkv, block_mask=its))[0],
    ))  # fmt: skip
tclab.show(tclab.Table(
    title="A block mask, made and used", name="made",
    columns=("length", "as it is", "its peak", "compiled", "its peak, compiled", "one attention"),
    units=("", "ms", "MiB", "ms", "MiB", "ms"), formats=("d", ".2f", ".1f", ".2f", ".1f", ".2f"),
    rows=rows,
))  # fmt: skip

last = rows[-1]
# claim: as-it-is-it-makes-the-whole-matrix
assert last[2] * MIB >= last[0] ** 2, rows
# claim: compiled-it-does-not
assert last[4] * MIB < last[0] ** 2 / 8, rows
# claim: compiled-is-faster-at-length
assert last[3] < last[1] / 2, rows
