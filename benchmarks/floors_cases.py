"""Define the functions and models whose computed floors `benchmarks.floors` compares with
measurements.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 - as users call it
from torch import nn

from tclab.workshop.catalog.subject import Subject

#: A function and its arguments on a device.
Call = tuple[Callable[..., Any], tuple[Any, ...]]


@dataclass(frozen=True)
class Case:
    """A function to measure; `rate` is the format of its products' operands."""

    name: str
    make: Callable[[str], Call]
    backward: bool = False
    tf32: bool = False
    rate: str = "f16"


def make_catalog_model(builder: str, **size: Any) -> Callable[[str], Call]:
    """Return a maker of a subject of the catalogue, such as ``models.torch_models:unet``."""
    module, _, name = builder.partition(":")

    def make(device: str) -> Call:
        build = getattr(importlib.import_module(f"tclab.workshop.catalog.{module}"), name)
        subject: Subject = build(device, **size)
        return subject.call()

    return make


def make_whole_model(
    name: str, batch: int, dtype: torch.dtype = torch.bfloat16
) -> Callable[[str], Call]:
    """Return a maker of a whole model with its inputs, which are repeated to `batch`."""

    def make(device: str) -> Call:
        whole = importlib.import_module("tclab.workshop.catalog.models.whole")
        model, arguments = getattr(whole, name)()
        model = model.to(device, dtype)
        moved = [a.to(device, dtype if a.is_floating_point() else a.dtype) for a in arguments]
        return model, tuple(a.repeat(batch, *[1] * (a.dim() - 1)) for a in moved)

    return make


def _random(*shape: int, dtype: torch.dtype = torch.float32, grad: bool = False) -> Any:
    return lambda device: torch.randn(*shape, device=device, dtype=dtype, requires_grad=grad)


def _call(fn: Callable[..., Any], *inputs: Any) -> Callable[[str], Call]:
    return lambda device: (fn, tuple(make(device) for make in inputs))


def _chain(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.sigmoid(F.gelu(x + y) * x) - x


def _products(x: torch.Tensor, *weights: torch.Tensor) -> torch.Tensor:
    for weight in weights:
        x = F.relu(x @ weight)
    return x


def _many_small(x: torch.Tensor) -> torch.Tensor:
    for number in range(40):
        x = x.softmax(number % 2)
    return x


def _attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def _layer_norm_of(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return F.layer_norm(x, (x.shape[-1],), w, b)


def _module(model: Callable[[], nn.Module], *inputs: Any, **to: Any) -> Callable[[str], Call]:
    def make(device: str) -> Call:
        return model().to(device, **to), tuple(make_input(device) for make_input in inputs)

    return make


def _perceptron() -> nn.Module:
    return nn.Sequential(
        nn.Linear(256, 512), nn.GELU(), nn.LayerNorm(512), nn.Linear(512, 256), nn.Tanh()
    )


_BF16 = torch.bfloat16
_SQUARE = [_random(4096, 4096) for _ in range(4)]
_SQUARE_BF16 = [_random(8192, 8192, dtype=_BF16) for _ in range(3)]
_KERNELS = "functions.kernels:"
_LARGE = {"rows": 16384, "columns": 8192}

FUNCTIONS = (
    Case("pointwise, small", _call(_chain, _random(256, 256), _random(256, 256))),
    Case("pointwise, 16 MiB", _call(_chain, _random(2048, 1024), _random(1024))),
    Case("pointwise, large", make_catalog_model(_KERNELS + "pointwise_chain", **_LARGE)),
    Case("swiglu, large", make_catalog_model(_KERNELS + "swiglu", **_LARGE)),
    Case("softmax, large", make_catalog_model(_KERNELS + "softmax", **_LARGE)),
    Case("softmax, small", make_catalog_model(_KERNELS + "softmax", rows=512, columns=512)),
    Case("layer norm, large", make_catalog_model(_KERNELS + "layer_norm", **_LARGE)),
    Case(
        "layer norm, training",
        _call(
            _layer_norm_of,
            _random(16384, 4096, grad=True),
            _random(4096, grad=True),
            _random(4096, grad=True),
        ),
        backward=True,
    ),
    Case("rms norm, large", make_catalog_model(_KERNELS + "rms_norm", **_LARGE)),
    Case("cross entropy", make_catalog_model(_KERNELS + "cross_entropy", rows=8192, columns=32000)),
    Case("column sum", make_catalog_model(_KERNELS + "column_sum", rows=2**20, columns=64)),
    Case("embedding", make_catalog_model(_KERNELS + "gather", rows=65536, columns=1024)),
    Case("40 softmaxes, small", _call(_many_small, _random(64, 64))),
    Case("products, float32", _call(_products, *_SQUARE), rate="f32"),
    Case("products, TF32", _call(_products, *_SQUARE), tf32=True, rate="tf32"),
    Case("products, bfloat16", _call(_products, *_SQUARE_BF16)),
    Case(
        "products, small",
        _call(_products, *[_random(128, 128, dtype=_BF16) for _ in range(8)]),
    ),
    Case(
        "product with one row, bfloat16",
        _call(
            _products, _random(8, 8192, dtype=_BF16), *[_random(8192, 8192, dtype=_BF16)] * 4
        ),
    ),
    Case(
        "attention, causal",
        _call(_attention, *[_random(4, 16, 4096, 128, dtype=_BF16) for _ in range(3)]),
    ),
    Case(
        "convolution",
        _module(
            lambda: nn.Conv2d(256, 256, 3, padding=1), _random(32, 256, 56, 56, dtype=_BF16),
            dtype=_BF16,
        ),
    ),
    Case(
        "perceptron, training step, small",
        _module(_perceptron, _random(64, 256)),
        backward=True,
        rate="f32",
    ),
)  # fmt: skip

MODELS = (
    Case("BERT base", make_whole_model("bert_base", 32)),
    Case("ResNet-50", make_whole_model("resnet50", 64)),
    Case("decoder of 22 layers", make_whole_model("decoder_22", 1)),
    Case("U-Net", make_catalog_model("models.torch_models:unet", batch=16)),
    Case("transformer", make_catalog_model("models.torch_models:transformer", batch=16)),
    Case("DLRM", make_catalog_model("models.torch_models:dlrm", batch=2048)),
)
CASES = {case.name: case for case in (*FUNCTIONS, *MODELS)}
