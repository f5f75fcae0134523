"""Define functions and models that were measured after the last change of the rules for bounds.

``python -m benchmarks.floors --suite fresh`` compares their computed floors with measurements.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812 - as users call it
from torch import nn

from benchmarks.floors_cases import Case, _call, _module, _random
from benchmarks.floors_further import _language
from benchmarks.floors_held_out import _convolved, _picture

BF16, F16 = torch.bfloat16, torch.float16
T = torch.Tensor


def _quantized(x: T) -> T:
    return (x * 127).round().clamp(-128, 127).to(torch.int8)


def _huber(x: T, y: T) -> T:
    return F.huber_loss(x, y)


def _standardized(x: T) -> T:
    variance, mean = torch.var_mean(x, 0)
    return (x - mean) * torch.rsqrt(variance + 1e-5)


def _table(x: T, y: T) -> T:
    return torch.maximum(x[:, None], y[None, :]) * 0.5


def _rolled(x: T) -> T:
    return x + torch.roll(x, 1, 0) - torch.roll(x, 1, 1)


def _total(*tensors: T) -> T:
    return torch.stack([torch.relu(each) for each in tensors]).sum(0)


def _channels_last(x: T) -> T:
    return x.permute(0, 2, 3, 1).contiguous()


def _attention(q: T, k: T, v: T) -> T:
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def _picked(x: T, index: T) -> T:
    return torch.gather(x, 1, index).exp()


def _places(device: str) -> T:
    return torch.randint(8192, (8192, 4096), device=device)


def _layers() -> nn.Module:
    return nn.Sequential(*(nn.Sequential(nn.Linear(64, 64), nn.SiLU()) for _ in range(20)))


_LARGE = _random(8192, 8192)
_TINY_ELECTRA = {"hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 4}

FUNCTIONS = (
    Case("gelu", _call(lambda x: F.gelu(x, approximate="tanh"), _LARGE)),
    Case("to int8", _call(_quantized, _LARGE)),
    Case(
        "huber loss, training step", _call(_huber, _random(2**25, grad=True), _random(2**25)), True
    ),
    Case("columns standardized", _call(_standardized, _random(65536, 512))),
    Case("table of maxima", _call(_table, _random(8192), _random(16384))),
    Case("rolled", _call(_rolled, _LARGE)),
    Case("sum of 8, float16", _call(_total, *[_random(4096, 8192, dtype=F16)] * 8)),
    Case("channels last, bfloat16", _call(_channels_last, _random(64, 256, 56, 56, dtype=BF16))),
    Case("gathered", _call(_picked, _LARGE, _places)),
    Case("rms norm, small", _call(lambda x: F.rms_norm(x, (1024,)), _random(64, 1024, dtype=BF16))),
    Case(
        "average pool", _call(lambda x: F.avg_pool2d(x, 2), _random(64, 128, 112, 112, dtype=BF16))
    ),
    Case("20 layers of 64", _module(_layers, _random(16, 64)), rate="f32"),
    Case(
        "product with 32 rows", _call(torch.mm, *[_random(n, 8192, dtype=BF16) for n in (32, 8192)])
    ),
    Case("products of 64 x 64", _call(torch.bmm, *[_random(256, 64, 64, dtype=F16)] * 2)),
    Case("product of 2048", _call(torch.mm, *[_random(2048, 2048, dtype=BF16)] * 2)),
    Case("distances of points", _call(torch.cdist, *[_random(8192, 64)] * 2), rate="f32"),
    Case(
        "attention, causal, float16", _call(_attention, *[_random(8, 16, 4096, 64, dtype=F16)] * 3)
    ),
    Case(
        "scores' softmax",
        _call(lambda x: F.softmax(x * 0.125, -1), _random(64, 16, 512, 512, dtype=F16)),
    ),
    Case(
        "3x3 convolution, float32",
        _module(_convolved(128, 128, 3, padding=1, dtype=torch.float32), _random(32, 128, 56, 56)),
        rate="f32",
    ),
    Case(
        "3x3 convolution, wide, float16",
        _module(_convolved(512, 512, 3, padding=1, dtype=F16), _random(64, 512, 28, 28, dtype=F16)),
    ),
)

MODELS = (
    Case("DeiT-S", _picture("deit_small_patch16_224", BF16, 64, 3, 224, 224)),
    Case("ResNeXt-50", _picture("resnext50_32x4d", F16, 64, 3, 224, 224)),
    Case(
        "MobileNetV3, one picture", _picture("mobilenetv3_large_100", torch.float32, 1, 3, 224, 224)
    ),
    Case("Swin-T", _picture("swin_tiny_patch4_window7_224", BF16, 32, 3, 224, 224)),
    Case("OPT", _language("OPT", BF16, 8, 256, use_cache=False)),
    Case(
        "ELECTRA, training step, small",
        _language("Electra", torch.float32, 2, 64, **_TINY_ELECTRA),
        backward=True,
        rate="f32",
    ),
)
FRESH = {case.name: case for case in (*FUNCTIONS, *MODELS)}
