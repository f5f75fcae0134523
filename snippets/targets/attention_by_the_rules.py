"""Which attention kernel each GPU gets, and why not the one before it.

The six calls differ in dtype, mask, heads and head size. PyTorch goes through its kernels in an
order, and takes the first that no rule excludes; order and rules are those of the PyTorch that is
installed. The second table names the first rule that each passed-over kernel failed.
"""
# tclab: needs=triton timeout=300

import re

import torch
from torch.nn.functional import scaled_dot_product_attention

import tclab

GPUS = ("t4", "a100", "h200", "b200")


def attention(q, k, v):
    return scaled_dot_product_attention(q, k, v)


def masked(q, k, v):
    mask = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool).tril(64)
    return scaled_dot_product_attention(q, k, v, attn_mask=mask)


def grouped(q, k, v):  # fewer heads of keys and values than of queries
    return scaled_dot_product_attention(q, k[:, :2], v[:, :2], enable_gqa=True)


def made(size=64, dtype=torch.float16):
    return torch.randn(3, 2, 8, 128, size, dtype=dtype)  # query, key, value: [batch, heads, …]


CALLS = {
    "float16": (attention, made()),
    "float16, a mask": (masked, made()),
    "float16, grouped queries": (grouped, made()),
    "float16, head size 20": (attention, made(20)),
    "float16, head size 24": (attention, made(24)),
    "float32": (attention, made(dtype=torch.float32)),
}
OPERATOR = re.compile(r"_scaled_dot_product_(\w+?)_attention\.default\(|extern_kernels\.bmm\(")

chosen, reasons = {}, []
for call, (function, tensors) in CALLS.items():
    for gpu in GPUS:
        c = tclab.capture(function, target=gpu)(*tensors)
        (decision,) = c.decisions
        called = OPERATOR.search(c.wrapper[0].code)[1] or "math"
        assert decision.choice.startswith(called)
        chosen[call, gpu] = called
        reasons.append((call, gpu, *decision.choice.split(" (", 1), decision.source))

# claim: the-gpu-decides
assert [chosen["float16", gpu] for gpu in GPUS] == ["efficient", "flash", "cudnn", "cudnn"]
# claim: flash-takes-no-mask
assert chosen["float16, a mask", "a100"] == "efficient"
assert any("not flash: no mask" in row[3] for row in reasons if row[0] == "float16, a mask")
# claim: cudnn-wants-multiples-of-8
assert [chosen[f"float16, head size {size}", "h200"] for size in (20, 24)] == ["flash", "cudnn"]

tclab.show(tclab.Table(
    title="The kernel behind scaled_dot_product_attention", name="kernels",
    columns=("call", *GPUS), rows=[(c, *(chosen[c, gpu] for gpu in GPUS)) for c in CALLS],
))  # fmt: skip
tclab.show(tclab.Table(
    title="Why", name="reasons", columns=("call", "target", "kernel", "because", "source"),
    rows=[(c, gpu, kernel, why.removesuffix(")"), source)
          for c, gpu, kernel, *rest, source in reasons for why in [(*rest, "the first")[0]]],
))  # fmt: skip
