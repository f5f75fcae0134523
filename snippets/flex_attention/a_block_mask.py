"""A window of attention as a block mask: the graph, and the kernel for an H200.

`create_block_mask` asks the function which blocks of 128 by 128 have a score to compute, once. The
kernel goes over those, and asks the function again only where a block is cut.
"""
# tclab: needs=triton timeout=240

import torch
from torch.nn.attention.flex_attention import create_block_mask, create_mask, flex_attention
from torch.nn.functional import scaled_dot_product_attention

import tclab

LENGTH = 1024


def window(batch, head, query, key):
    return (query >= key) & (query - key < 300)


def attention(q, k, v, blocks):
    return flex_attention(q, k, v, block_mask=blocks)


torch.manual_seed(0)
torch.set_grad_enabled(False)
q, k, v = torch.randn(3, 1, 2, LENGTH, 64)
blocks = create_block_mask(window, None, None, LENGTH, LENGTH, device="cpu")
whole = create_mask(window, None, None, LENGTH, LENGTH, device="cpu")
exact = scaled_dot_product_attention(q.double(), k.double(), v.double(), attn_mask=whole)
compiled = torch.compile(attention, backend="aot_eager")
off = (compiled(q, k, v, blocks) - exact).abs().max().item()
c = tclab.capture(attention, target="h200")(q.half(), k.half(), v.half(), blocks)
(kernel,) = [kernel for kernel in c.kernels if "flex_attention" in kernel.kernel_name]
partial, full = (int(blocks.kv_num_blocks.sum()), int(blocks.full_kv_num_blocks.sum()))
every = (LENGTH // blocks.BLOCK_SIZE[0]) ** 2
tclab.show(tclab.Table(
    title="The blocks of 128 by 128", name="blocks",
    columns=("what", "blocks"), formats=("", "d"),
    rows=[("all", every), ("computed, and the function asked at each score", partial),
          ("computed without asking", full), ("left out", every - partial - full)],
))  # fmt: skip
tclab.show(c.graphs[0], name="graph")
tclab.show(kernel, name="kernel")

inputs = [node.name for node in c.graphs[0].nodes if node.op == "placeholder"]
targets = [str(node.target) for node in c.graphs[0].nodes]
# claim: it-is-right
assert off < 1e-5, off
# claim: most-blocks-are-left-out
assert every - partial - full > every / 2 and partial > 0 and full > 0, (partial, full)
# claim: the-lists-of-blocks-are-inputs
assert sum("kv_num_blocks" in name or "kv_indices" in name for name in inputs) >= 4, inputs
# claim: one-operator-and-the-mask-as-a-subgraph
assert sum("flex_attention" in target for target in targets) == 1, targets
assert "mask_fn" in c.graphs[0].code or "mask_mod" in c.graphs[0].code
# claim: the-function-is-in-the-kernel
assert "300" in kernel.code and "KV_NUM_BLKS" in kernel.code.upper()
