"""Six windows, one after the other: the compiles that each way to pass the number costs.

The backend is `eager`, so only Dynamo's compiles are counted. Each result is compared with
SDPA under the same mask.
"""
# tclab: timeout=240

import functools
import warnings

import torch
from torch._dynamo.utils import counters
from torch.nn.attention.flex_attention import create_block_mask, create_mask, flex_attention
from torch.nn.functional import scaled_dot_product_attention

import tclab

LENGTH, WIDTHS = 128, (16, 32, 48, 64, 80, 96)


def window(batch, head, query, key, width):
    return (query >= key) & (query - key < width)


def a_number(width):
    return lambda b, h, i, j: window(b, h, i, j, width)


def a_tensor(width):
    return a_number(torch.tensor(width))


def a_partial(width):
    return functools.partial(lambda width, b, h, i, j: window(b, h, i, j, width), width)


def a_global(width):
    globals()["WINDOW"] = width
    return lambda b, h, i, j: window(b, h, i, j, WINDOW)  # noqa: F821


def a_default(width):
    def mask(b, h, i, j, width=width):
        return window(b, h, i, j, width)

    return mask


def text_in_place(width):
    return eval(f"lambda b, h, i, j: (i >= j) & (i - j < {width})")


warnings.simplefilter("ignore")
torch.manual_seed(0)
torch.set_grad_enabled(False)
qkv = torch.randn(3, 1, 2, LENGTH, 16)
compiles, right = {}, {}
for way in (a_tensor, a_number, a_partial, a_global, text_in_place, a_default):
    torch._dynamo.reset()
    counters.clear()
    attention = torch.compile(flex_attention, backend="eager")
    off = []
    for width in WIDTHS:
        mask = way(width)
        blocks = create_block_mask(mask, None, None, LENGTH, LENGTH, device="cpu")
        whole = create_mask(mask, None, None, LENGTH, LENGTH, device="cpu")
        exact = scaled_dot_product_attention(*qkv, attn_mask=whole)
        off.append((attention(*qkv, block_mask=blocks) - exact).abs().max().item())
    compiles[way], right[way] = counters["stats"]["unique_graphs"], max(off) < 1e-5
tclab.show(tclab.Table(
    title="Six windows", name="windows",
    columns=("the width is in", "compiles", "all six right"), formats=("", "d", ""),
    rows=[(way.__name__.replace("_", " "), compiles[way], right[way]) for way in compiles],
))  # fmt: skip

VERSION = tuple(int(part) for part in torch.__version__.split(".")[:2])
# claim: a-tensor-compiles-once
assert compiles[a_tensor] == 1
# claim: a-number-compiles-twice
assert compiles[a_number] == 2 == compiles[a_partial]
# claim: a-global-compiles-for-each
assert compiles[a_global] == len(WIDTHS)
# claim: so-does-another-function-for-each
assert compiles[text_in_place] == len(WIDTHS)
# claim: these-are-right
assert all(right[way] for way in compiles if way is not a_default), right
if VERSION >= (2, 12):
    # claim: a-default-compiles-for-each, torch >= 2.12
    assert compiles[a_default] == len(WIDTHS) and right[a_default], (compiles, right)
else:
    # claim: a-default-is-not-looked-at-again, torch < 2.12
    assert compiles[a_default] == 1 and not right[a_default], (compiles, right)
