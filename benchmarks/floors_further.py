"""Define further functions and models whose computed floors `benchmarks.floors` compares with
measurements: among them operators that a library computes without products.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable

import torch
import torch.nn.functional as F  # noqa: N812 - as users call it
from torch import nn

from benchmarks.floors_cases import Call, Case, _call, _module, _random

BF16, F16 = torch.bfloat16, torch.float16
T = torch.Tensor


def _logsumexp(x: T) -> T:
    return torch.logsumexp(x, -1) - x[:, 0]


def _rotary(q: T, cos: T, sin: T) -> T:
    a, b = q.chunk(2, -1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)


def _dropped(x: T) -> T:
    return F.dropout(F.relu(x), 0.1, training=True)


def _transposed(x: T, y: T) -> T:
    return x.t() + y


def _masked(x: T, y: T) -> T:
    return torch.where(x > y, x.clamp(-1, 1), y.abs()).sqrt()


def _linear_gelu(x: T, w: T, b: T) -> T:
    return F.gelu(F.linear(x, w, b))


def _product(a: T, b: T) -> T:
    return a @ b


def _pooled(x: T) -> T:
    return F.max_pool2d(x, 3, 2, 1)


def _attention(q: T, k: T, v: T) -> T:
    return F.scaled_dot_product_attention(q, k, v)


def _spelled(q: T, k: T, v: T) -> T:
    return torch.softmax(q @ k.transpose(-1, -2) / 8, -1) @ v


def _loss(x: T, y: T) -> T:
    return ((x - y) ** 2).mean()


def _sorted(x: T) -> T:
    return torch.sort(x, -1).values


def _spectrum(x: T) -> T:
    return torch.fft.rfft(x).abs()


def _middle(x: T) -> T:
    return torch.kthvalue(x, 100, -1).values


def _best(x: T) -> T:
    return torch.topk(x, 8, -1).values


def _entropy(x: T) -> T:
    p = x.softmax(-1)
    return -(p * p.clamp_min(1e-9).log()).sum(-1)


def _tiny() -> nn.Module:
    return nn.Sequential(*[m for _ in range(12) for m in (nn.Linear(64, 64), nn.SiLU())])


class _Hidden(nn.Module):
    """A language model of transformers; its last hidden state alone."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: T) -> T:
        """Return the last hidden state."""
        state: T = self.model(input_ids=ids).last_hidden_state
        return state


def _language(
    kind: str, dtype: torch.dtype, *shape: int, **fields: object
) -> Callable[[str], Call]:
    def make(device: str) -> Call:
        package = importlib.import_module("transformers")
        config = getattr(package, f"{kind}Config")(**fields)
        model = getattr(package, f"{kind}Model")(config).eval()
        return _Hidden(model).to(device, dtype), (torch.randint(1000, shape, device=device),)

    return make


_CONV2D = _module(
    lambda: nn.Conv2d(384, 384, 7, padding=3, groups=384),
    _random(64, 384, 28, 28, dtype=BF16),
    dtype=BF16,
)
_DEPTHWISE = _module(
    lambda: nn.Conv2d(192, 192, 3, padding=1, groups=192), _random(64, 192, 56, 56)
)
_GROUPED = _module(
    lambda: nn.Conv2d(256, 256, 3, padding=1, groups=8),
    _random(64, 256, 56, 56, dtype=F16),
    dtype=F16,
)
_CONV3D = _module(
    lambda: nn.Conv3d(64, 64, 3, padding=1), _random(4, 64, 16, 56, 56, dtype=BF16), dtype=BF16
)
_TRANSPOSED = _module(
    lambda: nn.ConvTranspose2d(256, 128, 4, 2, 1), _random(32, 256, 32, 32, dtype=BF16), dtype=BF16
)
_CONV1D = _module(lambda: nn.Conv1d(512, 512, 3, padding=1), _random(16, 512, 4096))
_SQUARE, _LARGE = _random(2048, 2048), _random(8192, 8192)
_HALF = _random(64, 1024, 1024, dtype=F16)
_HEADS = [_random(8, 8, 256, 64, dtype=BF16)] * 3
_ANGLES = [_random(2048, 64, dtype=BF16)] * 2
_GELU = [_random(*shape, dtype=F16) for shape in ((8192, 4096), (16384, 4096), (16384,))]
_VECTOR = [_random(16384, 16384, dtype=F16), _random(16384, 1, dtype=F16)]
_SMALL_BERT = {"dim": 256, "hidden_dim": 1024, "n_heads": 4, "n_layers": 4}

FURTHER = {
    case.name: case
    for case in (
        Case("where, small", _call(_masked, _random(128, 128), _random(128, 128))),
        Case("logsumexp", _call(_logsumexp, _random(32768, 4096))),
        Case("bmm, float16", _call(torch.bmm, _HALF, _HALF)),
        Case("transposed sum", _call(_transposed, _LARGE, _LARGE)),
        Case("dropout", _call(_dropped, _LARGE)),
        Case("rotary, bfloat16", _call(_rotary, _random(8, 32, 2048, 128, dtype=BF16), *_ANGLES)),
        Case("attention, small", _call(_attention, *_HEADS)),
        Case("product, float32, 2048", _call(_product, _SQUARE, _SQUARE), rate="f32"),
        Case("24 small layers", _module(_tiny, _random(32, 64)), rate="f32"),
        Case("top 8 of rows", _call(_best, _random(8192, 4096))),
        Case("1-d convolution, float32", _CONV1D, rate="f32"),
        Case("depthwise convolution", _CONV2D),
        Case("depthwise convolution, float32", _DEPTHWISE, rate="f32"),
        Case("grouped convolution, float16", _GROUPED),
        Case("3-d convolution, bfloat16", _CONV3D),
        Case("transposed convolution, bfloat16", _TRANSPOSED),
        Case("sort of rows", _call(_sorted, _random(4096, 8192))),
        Case("spectrum", _call(_spectrum, _random(4096, 8192))),
        Case("100th of rows", _call(_middle, _random(4096, 8192))),
        Case("entropy of rows", _call(_entropy, _random(16384, 8192))),
        Case("max pool", _call(_pooled, _random(64, 128, 112, 112))),
        Case("loss, training step", _call(_loss, _random(2**26, grad=True), _random(2**26)), True),
        Case("linear + gelu, float16", _call(_linear_gelu, *_GELU)),
        Case("product with a vector, float16", _call(_product, *_VECTOR)),
        Case(
            "attention spelled out, float32",
            _call(_spelled, *[_random(16, 16, 1024, 64)] * 3),
            rate="f32",
        ),
        Case("GPT-2", _language("GPT2", BF16, 8, 512, use_cache=False)),
        Case(
            "DistilBERT, training step, small",
            _language("DistilBert", torch.float32, 2, 64, **_SMALL_BERT),
            backward=True,
            rate="f32",
        ),
    )
}
