"""FlexAttention on a GPU: a kernel with the score inside, timed beside the matrix of scores.

Inductor has a template for the operator, in Triton. The function by hand makes the whole matrix of
scores, in eager mode and compiled. Errors are against float64; times are medians of turns.
"""
# tclab: needs=cuda,triton alone=true timeout=240 memory=16384

import statistics

import torch
from torch.nn.attention.flex_attention import flex_attention

import tclab

HEADS, LENGTH, SIZE = 8, 2048, 64


def with_distance(score, batch, head, query, key):
    return score - (query - key).abs() * 0.25


def attention(q, k, v):
    return flex_attention(q, k, v, score_mod=with_distance)


def by_hand(q, k, v):
    positions = torch.arange(LENGTH, device=q.device)
    distance = (positions[:, None] - positions[None]).abs()
    scores = q @ k.transpose(-1, -2) / SIZE**0.5 - distance * 0.25
    return scores.softmax(-1).to(v.dtype) @ v


def milliseconds(fn, calls=20):
    """Of one call, over a stretch of them, by the device's events."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(calls):
        fn(q, k, v)
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / calls


torch.manual_seed(0)
torch.set_grad_enabled(False)
q, k, v = torch.randn(3, 4, HEADS, LENGTH, SIZE, device="cuda", dtype=torch.bfloat16)
c = tclab.capture(attention, fullgraph=True)(q, k, v)
wrapper = c.wrapper[0].code
exact = by_hand(q.double(), k.double(), v.double())
ways = {"flex_attention, compiled": torch.compile(attention)}
ways |= {"by hand, eager": by_hand, "by hand, compiled": torch.compile(by_hand)}
off = {}
for name, fn in ways.items():
    fn(q, k, v)
    off[name] = ((fn(q, k, v).double() - exact).norm() / exact.norm()).item()
rounds = [{name: milliseconds(fn) for name, fn in ways.items()} for _ in range(11)]
time = {name: statistics.median(one[name] for one in rounds) for name in ways}
tclab.show(
    tclab.Table(
        title=f"Attention with a distance, {LENGTH} tokens",
        name="ways",
        columns=("way", "time", "error"),
        units=("", "ms", ""),
        formats=("", ".2f", ".1e"),
        rows=[(name, time[name], off[name]) for name in ways],
    )
)
tclab.show(c.wrapper[0], name="wrapper")

# claim: one-kernel-has-the-score
assert wrapper.count("@triton_heuristics.template(") == 1 and "0.25" in wrapper
# claim: the-operator-is-faster-than-its-scores
assert time["flex_attention, compiled"] < time["by hand, compiled"]
# claim: all-are-right
assert max(off.values()) < 2e-2
