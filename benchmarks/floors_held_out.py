"""Define functions and models that the rules of `tclab explain` were not made with.

``python -m benchmarks.floors --suite held-out`` compares their computed floors with measurements.
After these were seen, `tclab.explain.costs` learned to name a second bound; no rule was changed
after `benchmarks.floors_fresh` was measured.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable

import torch
import torch.nn.functional as F  # noqa: N812 - as users call it
from torch import nn

from benchmarks.floors_cases import Call, Case, _call, _module, _random
from benchmarks.floors_further import _language

BF16, F16 = torch.bfloat16, torch.float16
T = torch.Tensor


def _hard_swish(x: T, y: T) -> T:
    return F.hardswish(x) * torch.tanh(y)


def _group_norm(x: T) -> T:
    return F.silu(F.group_norm(x, 32))


def _gated(x: T) -> T:
    return F.glu(x, -1)


def _scan(x: T) -> T:
    return torch.cumsum(x, -1)


def _farthest(x: T) -> T:
    return (x - x.mean(-1, keepdim=True)).abs().argmax(-1)


def _outer(x: T, y: T) -> T:
    return torch.exp(-(x[:, None] - y[None, :]).abs())


def _divergence(x: T, y: T) -> T:
    return F.kl_div(F.log_softmax(x, -1), y, reduction="batchmean", log_target=True)


def _enlarged(x: T) -> T:
    return F.interpolate(x, scale_factor=2.0, mode="bilinear")


def _steps(x: T, *weights: T) -> T:
    for weight in weights:
        x = x + torch.tanh(F.layer_norm(x, x.shape[-1:]) @ weight)
    return x


def _cosine(x: T, y: T) -> T:
    return F.cosine_similarity(x, y, dim=-1)


def _projected(x: T, w: T, b: T) -> T:
    return F.relu(F.linear(x, w, b)) + x


def _joined(x: T, y: T) -> T:
    return torch.einsum("bhid,bhjd->bhij", x, y)


def _masked(q: T, k: T, v: T, mask: T) -> T:
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def _counted(x: T, index: T) -> T:
    return torch.zeros(4096, x.shape[1], device=x.device).index_add(0, index, x)


def _index(device: str) -> T:
    return torch.randint(4096, (65536,), device=device)


def _convolved(*arguments: int, dtype: torch.dtype = BF16, **more: int) -> Callable[[], nn.Module]:
    return lambda: nn.Sequential(nn.Conv2d(*arguments, **more), nn.ReLU()).to(dtype)


def _picture(name: str, dtype: torch.dtype, *shape: int) -> Callable[[str], Call]:
    def make(device: str) -> Call:
        model = importlib.import_module("timm").create_model(name).eval()
        return model.to(device, dtype), (torch.randn(*shape, device=device, dtype=dtype),)

    return make


_WIDE = _random(8192, 8192)
_ROWS = _random(4096, 4096, dtype=BF16)
_HEADS = [_random(8, 16, 1024, 64, dtype=F16)] * 3
_SMALL_LLAMA = {
    "hidden_size": 256,
    "intermediate_size": 512,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "vocab_size": 1000,
    "use_cache": False,
}

FUNCTIONS = (
    Case("hard swish, bfloat16", _call(_hard_swish, *[_random(16384, 8192, dtype=BF16)] * 2)),
    Case("group norm + silu", _call(_group_norm, _random(32, 256, 64, 64))),
    Case("gated unit", _call(_gated, _WIDE)),
    Case("running sum of rows", _call(_scan, _random(16384, 4096))),
    Case("farthest of rows", _call(_farthest, _WIDE)),
    Case("distances of two vectors", _call(_outer, _random(16384), _random(8192))),
    Case(
        "divergence, training step", _call(_divergence, _random(8192, 8192, grad=True), _WIDE), True
    ),
    Case("bilinear, twice the size", _call(_enlarged, _random(32, 64, 128, 128))),
    Case("cosine similarity, small", _call(_cosine, *[_random(64, 256)] * 2)),
    Case(
        "16 residual steps, small",
        _call(_steps, _random(32, 128), *[_random(128, 128)] * 16),
        rate="f32",
    ),
    Case(
        "linear + relu + residual, bfloat16",
        _call(_projected, _ROWS, _ROWS, _random(4096, dtype=BF16)),
    ),
    Case("scores, float16", _call(_joined, *_HEADS[:2])),
    Case(
        "attention with a mask, float16",
        _call(_masked, *_HEADS, _random(1, 1, 1024, 1024, dtype=F16)),
    ),
    Case(
        "product, TF32, 4096", _call(torch.mm, *[_random(4096, 4096)] * 2), tf32=True, rate="tf32"
    ),
    Case("index_add", _call(_counted, _random(65536, 1024), _index)),
    Case(
        "1x1 convolution, bfloat16",
        _module(_convolved(512, 512, 1), _random(64, 512, 28, 28, dtype=BF16)),
    ),
    Case(
        "strided convolution, bfloat16",
        _module(_convolved(3, 64, 7, stride=2, padding=3), _random(128, 3, 224, 224, dtype=BF16)),
    ),
    Case(
        "dilated convolution, float16",
        _module(
            _convolved(128, 128, 3, padding=4, dilation=4, dtype=F16),
            _random(32, 128, 64, 64, dtype=F16),
        ),
    ),
    Case(
        "convolution, small",
        _module(_convolved(32, 32, 3, padding=1), _random(4, 32, 16, 16, dtype=BF16)),
    ),
    Case("argsort of rows", _call(lambda x: torch.argsort(x, -1), _random(8192, 2048))),
)

MODELS = (
    Case("ViT-B/16", _picture("vit_base_patch16_224", BF16, 32, 3, 224, 224)),
    Case("ConvNeXt-T", _picture("convnext_tiny", BF16, 64, 3, 224, 224)),
    Case("Mixer-B/16, one picture", _picture("mixer_b16_224", BF16, 1, 3, 224, 224)),
    Case("EfficientNet-B0", _picture("efficientnet_b0", BF16, 128, 3, 224, 224)),
    Case("RoBERTa", _language("Roberta", BF16, 32, 256, use_cache=False)),
    Case(
        "Llama, training step, small",
        _language("Llama", torch.float32, 2, 64, **_SMALL_LLAMA),
        backward=True,
        rate="f32",
    ),
)
HELD_OUT = {case.name: case for case in (*FUNCTIONS, *MODELS)}
