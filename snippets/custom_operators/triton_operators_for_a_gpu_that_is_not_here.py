"""Triton code of your own, for a GPU that is not here.

Three ways in: a kernel launched in the function, the same behind `torch.library.triton_op`, and
FlexAttention with a score and with a mask of your own. Each goes down to SASS.
"""
# tclab: needs=triton timeout=300

import re

import torch
import triton
import triton.language as tl
from torch._inductor import config
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

import tclab


@triton.jit
def scale_add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, 2.0 * tl.load(x_ptr + offsets, mask=mask) + y, mask=mask)


def launched(x, y):
    out = torch.empty_like(x)
    scale_add[(triton.cdiv(x.numel(), 1024),)](x, y, out, x.numel(), BLOCK=1024)
    return torch.relu(out)


@torch.library.triton_op("lab_target::scale_add", mutates_args={})
def operator(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    kernel = torch.library.wrap_triton(scale_add)
    kernel[(triton.cdiv(x.numel(), 1024),)](x, y, out, x.numel(), BLOCK=1024)
    return out


def behind_an_operator(x, y):
    return torch.relu(operator(x, y))


def scored(q, k, v):
    return flex_attention(q, k, v, score_mod=lambda score, b, h, i, j: score - (i - j).abs() * 0.25)


mask = create_block_mask(lambda b, h, i, j: i >= j, None, None, 256, 256, device="cpu")


def masked(q, k, v):
    return flex_attention(q, k, v, block_mask=mask)


def block(c):
    """The sizes of the pieces that FlexAttention's kernel works on: of queries, of keys."""
    code = next(kernel.code for kernel in c.kernels if "flex_attention" in kernel.kernel_name)
    return tuple(int(re.search(rf"BLOCK_{x} : tl.constexpr = (\d+)", code)[1]) for x in "MN")


torch.set_grad_enabled(False)
pair = tuple(torch.randn(2, 4096))
qkv = tuple(torch.randn(3, 1, 2, 256, 64, dtype=torch.float16))
calls = {launched: pair, behind_an_operator: pair, scored: qkv, masked: qkv}
captures = {fn.__name__: tclab.capture(fn, target="h200")(*args) for fn, args in calls.items()}
VERSION = tuple(int(part) for part in torch.__version__.split(".")[:2])
sass = {name: [k.name for k in c.compile_kernels() if "sass" in k.stages]
        for name, c in captures.items()}  # fmt: skip
on_a100 = tclab.capture(scored, target="a100")(*qkv)
tclab.show(
    tclab.Table(
        title="Down to SASS of an H200",
        name="kernels",
        columns=("function", "kernels"),
        rows=[(name, ", ".join(kernels)) for name, kernels in sass.items()],
    )
)
tclab.show(
    tclab.Table(
        title="FlexAttention's pieces, float16, head size 64",
        name="blocks",
        columns=("GPU", "queries", "keys"),
        rows=[("H200", *block(captures["scored"])), ("A100", *block(on_a100))],
    )
)

# claim: a-kernel-in-the-function-goes-down-to-sass
assert any("scale_add" in name for name in sass["launched"])
# claim: so-does-one-behind-an-operator
assert any("scale_add" in name for name in sass["behind_an_operator"])
# claim: what-stands-after-is-a-kernel-of-its-own
assert any("relu" in name for name in sass["behind_an_operator"])
if VERSION >= (2, 13):
    with config.patch(epilogue_fusion_user_defined_triton_kernel=True):
        fused = tclab.capture(behind_an_operator, target="h200")(*pair)
    # claim: an-option-fuses-it-in, torch >= 2.13
    assert len(fused.kernels) == 1 and "maximum" in fused.kernels[0].code
# claim: flex-attention-goes-down-to-sass
assert all(any("flex_attention" in name for name in sass[fn]) for fn in ("scored", "masked"))
# claim: the-score-is-inside-the-kernel
assert "0.25" in captures["scored"].kernels[-1].code
# claim: the-gpu-decides-the-pieces
assert block(captures["scored"]) != block(on_a100)
# claim: nothing-is-refused-or-timed
assert not any(c.gaps or c.timed for c in captures.values())
