"""One query against a static cache of a longer and longer maximum, 256 places of it used.

Attention alone, batch 8, 32 heads of 128, bfloat16. With a mask the kernel reads the whole cache
and throws most of it away; with a block mask FlexAttention reads the blocks in use. Times are of
replays of a CUDA graph of ten calls; errors are against float64 over the places in use.
"""
# tclab: needs=cuda,triton alone=true timeout=300 memory=16384

import statistics

import torch
from torch.nn.attention.flex_attention import create_block_mask, flex_attention
from torch.nn.functional import scaled_dot_product_attention

import tclab

BATCH, HEADS, SIZE, USED = 8, 32, 128, 256


def causal(batch, head, query, key):
    return query >= key


def masked(query, keys, values, position):
    seen = torch.arange(keys.shape[2], device=keys.device) <= position[:, None]
    return scaled_dot_product_attention(query, keys, values, attn_mask=seen)


def in_blocks(query, keys, values, position, blocks):
    """`blocks` is made once, for all positions: this takes the row of blocks of this one."""
    row = blocks[:, :, position // blocks.BLOCK_SIZE[0]]
    at = position[0]
    row.mask_mod = lambda batch, head, i, j: causal(batch, head, i + at, j)
    row.seq_lengths = (1, keys.shape[2])
    return flex_attention(query, keys, values, block_mask=row)


def microseconds(call, calls=10):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(calls):
            call()
    taken = []
    for _ in range(15):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        taken.append(1e3 * begin.elapsed_time(end) / calls)
    return statistics.median(taken)


torch.manual_seed(0)
torch.set_grad_enabled(False)
position = torch.tensor([USED - 1], device="cuda")
rows, off = [], []
for length in (512, 2048, 8192, 32768):
    torch._dynamo.reset()
    like = {"device": "cuda", "dtype": torch.bfloat16}
    query = torch.randn(BATCH, HEADS, 1, SIZE, **like)
    keys, values = (torch.randn(BATCH, HEADS, length, SIZE, **like) for _ in range(2))
    blocks = create_block_mask(causal, None, None, length, length, device="cuda")
    exact = scaled_dot_product_attention(
        query.double(), keys[:, :, :USED].double(), values[:, :, :USED].double()
    )
    calls = {"mask": (torch.compile(masked, dynamic=False), query, keys, values, position)}
    calls["blocks"] = (torch.compile(in_blocks, dynamic=False), *calls["mask"][1:], blocks)
    times = {}
    for name, (fn, *args) in calls.items():
        for _ in range(3):
            result = fn(*args)
        off.append(((result.double() - exact).norm() / exact.norm()).item())
        torch.cuda.synchronize()
        times[name] = microseconds(lambda: fn(*args))
    held = keys.nbytes + values.nbytes
    rows.append((length, held / 2**20, times["mask"], held / times["mask"] / 1e6, times["blocks"]))
tclab.show(tclab.Table(
    title=f"Attention of one query, {USED} places in use", name="maximum",
    columns=("maximum", "cache", "with a mask", "bytes of the cache a second", "in blocks"),
    units=("", "MiB", "µs", "TB/s", "µs"), formats=("d", ".0f", ".1f", ".2f", ".1f"), rows=rows,
))  # fmt: skip

first, last = rows[0], rows[-1]
# claim: all-are-right
assert max(off) < 2e-2, off
# claim: with-a-mask-the-maximum-is-the-price
assert last[2] > 16 * first[2], rows
# claim: in-blocks-it-is-not
assert last[4] < 3 * first[4] and last[4] < last[2] / 10, rows
