"""Masks of many densities on a GPU: blocks that are computed, and the time of a call.

8,192 tokens, 16 heads of 64, bfloat16. `blocks` is the share of the blocks of 128 by 128 that the
mask leaves. Errors are against SDPA in float32 with the whole mask as a tensor; the two last rows
are SDPA in bfloat16. Times are medians of turns.
"""
# tclab: needs=cuda,triton alone=true timeout=400 memory=16384

import statistics

import torch
from torch.nn.attention.flex_attention import create_block_mask, create_mask, flex_attention
from torch.nn.functional import scaled_dot_product_attention

import tclab

HEADS, LENGTH, SIZE = 16, 8192, 64


def causal(batch, head, query, key):
    return query >= key


def window(width):
    return lambda batch, head, query, key: (query >= key) & (query - key < width)


def documents(of):
    """Causal within each document: `of` says which one each token belongs to."""
    return lambda batch, head, query, key: (query >= key) & (of[query] == of[key])


def milliseconds(call, calls=5):
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(calls):
        call()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / calls


torch.manual_seed(0)
torch.set_grad_enabled(False)
q, k, v = torch.randn(3, 1, HEADS, LENGTH, SIZE, device="cuda", dtype=torch.bfloat16)
lengths = torch.tensor([3000, 100, 1500, 700, 2400, 492], device="cuda")
of = torch.repeat_interleave(torch.arange(6, device="cuda"), lengths)
MASKS = {"none": None, "causal": causal, "window of 4,096": window(4096),
         "window of 1,024": window(1024), "window of 256": window(256),
         "six documents": documents(of)}  # fmt: skip
calls, shares, off = {}, {}, []
for name, mask in MASKS.items():
    torch._dynamo.reset()
    attention = torch.compile(flex_attention)
    blocks = mask and create_block_mask(mask, None, None, LENGTH, LENGTH, device="cuda")
    shares[name] = 100 - (blocks.sparsity() if blocks else 0)
    result = attention(q, k, v, block_mask=blocks)
    calls[name] = lambda attention=attention, blocks=blocks: attention(q, k, v, block_mask=blocks)
    whole = mask and create_mask(mask, None, None, LENGTH, LENGTH, device="cuda")
    exact = scaled_dot_product_attention(q.float(), k.float(), v.float(), attn_mask=whole)
    off.append(((result - exact).norm() / exact.norm()).item())
calls["SDPA, causal"] = lambda: scaled_dot_product_attention(q, k, v, is_causal=True)
calls["SDPA, six documents as a tensor"] = lambda: scaled_dot_product_attention(
    q, k, v, attn_mask=whole
)
shares |= {"SDPA, causal": None, "SDPA, six documents as a tensor": None}
for call in calls.values():
    call()
rounds = [{name: milliseconds(call) for name, call in calls.items()} for _ in range(11)]
time = {name: statistics.median(one[name] for one in rounds) for name in calls}
tclab.show(tclab.Table(
    title="A call, by what its mask leaves", name="masks",
    columns=("mask", "blocks", "time", "of the time without a mask"), units=("", "%", "ms", "%"),
    formats=("", ".1f", ".3f", ".0f"),
    rows=[(name, shares[name], time[name], 100 * time[name] / time["none"]) for name in calls],
))  # fmt: skip
points = sorted((round(shares[name], 1), round(time[name], 4), name) for name in MASKS)
tclab.show(tclab.Chart(
    title="Time by the share of blocks", name="density", x=[share for share, _, _ in points],
    x_label="blocks computed, %", y_label="ms", names=[name for _, _, name in points],
    series={"FlexAttention": [ms for _, ms, _ in points]},
))  # fmt: skip

# claim: all-are-right
assert max(off) < 2e-2, off
# claim: fewer-blocks-take-less-time
assert time["none"] > time["causal"] > time["window of 1,024"] > time["window of 256"], time
# claim: a-narrow-window-is-a-small-part
assert time["window of 256"] < 0.3 * time["none"], time
# claim: sdpa-reads-the-whole-mask
assert time["SDPA, six documents as a tensor"] > 1.5 * time["six documents"], time
