"""Six lengths, one after the other: compiles of FlexAttention and of its mask.

The backend is `aot_eager`, so only Dynamo's compiles are counted. The mask is made outside, inside
the compiled function, or once for the longest with batches padded to it.
"""
# tclab: timeout=240

import warnings

import torch
from torch._dynamo.utils import counters
from torch.nn.attention.flex_attention import create_block_mask, flex_attention
from torch.nn.functional import pad, scaled_dot_product_attention

import tclab

LENGTHS, LONGEST = (256, 384, 512, 300, 140, 470), 512


def causal(batch, head, query, key):
    return query >= key


def made_outside(attention, q, k, v):
    length = q.shape[2]
    blocks = create_block_mask(causal, None, None, length, length, device="cpu")
    return attention(q, k, v, block_mask=blocks)


def attention_and_mask(q, k, v):
    length = q.shape[2]
    blocks = create_block_mask(causal, None, None, length, length, device=q.device)
    return flex_attention(q, k, v, block_mask=blocks)


longest = create_block_mask(causal, None, None, LONGEST, LONGEST, device="cpu")


def padded(attention, q, k, v):
    more = (0, 0, 0, LONGEST - q.shape[2])
    result = attention(*(pad(x, more) for x in (q, k, v)), block_mask=longest)
    return result[:, :, : q.shape[2]]


def inside(attention, q, k, v):
    return attention(q, k, v)


def refusal(q, k, v):
    """What FlexAttention says where the mask is longer than the batch."""
    try:
        flex_attention(q, k, v, block_mask=longest)
    except (ValueError, RuntimeError) as error:
        return str(error)


warnings.simplefilter("ignore")
torch.set_grad_enabled(False)
WAYS = {"mask made outside, dynamic=False": (flex_attention, made_outside, False),
        "mask made outside": (flex_attention, made_outside, None),
        "mask made inside": (attention_and_mask, inside, None),
        "padded to the longest": (flex_attention, padded, None)}  # fmt: skip
compiles, off = {}, []
for name, (fn, way, dynamic) in WAYS.items():
    torch._dynamo.reset()
    counters.clear()
    attention = torch.compile(fn, backend="aot_eager", dynamic=dynamic)
    for length in LENGTHS:
        qkv = torch.randn(3, 1, 2, length, 16)
        exact = scaled_dot_product_attention(*qkv, is_causal=True)
        off.append((way(attention, *qkv) - exact).abs().max().item())
    compiles[name] = counters["stats"]["unique_graphs"]
tclab.show(tclab.Table(
    title="Six lengths", name="lengths", columns=("way", "compiles"), formats=("", "d"),
    rows=list(compiles.items()),
))  # fmt: skip
said = refusal(*torch.randn(3, 1, 2, 300, 16))

# claim: fixed-lengths-compile-for-each
assert compiles["mask made outside, dynamic=False"] == len(LENGTHS), compiles
# claim: by-default-two-compiles-are-enough
assert compiles["mask made outside"] == 2 == compiles["mask made inside"], compiles
# claim: padded-there-is-one
assert compiles["padded to the longest"] == 1, compiles
# claim: all-are-right
assert max(off) < 1e-5, off
# claim: a-mask-of-another-length-is-refused
assert "created for a larger length" in said, said
