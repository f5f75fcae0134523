"""Make whole models of realistic shapes with torch.nn, with random weights.

``bert_base``: 12 layers, hidden size 768, 12 heads, 128 tokens (Devlin et al. 2018);
``resnet50``: an image of 224 by 224 (He et al. 2015); ``decoder_22``: 22 layers with rotary
positions, RMSNorm, gated MLP and grouped queries, as TinyLlama-1.1B has, at a quarter of its width.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from tclab.workshop.catalog.example import FunctionCall


class Attention(nn.Module):
    """Self-attention over [batch, tokens, width], with `groups` heads of keys and values."""

    def __init__(self, width: int, heads: int, groups: int, *, causal: bool, bias: bool) -> None:
        super().__init__()
        self.heads, self.groups, self.causal = heads, groups, causal
        size = width // heads
        self.query = nn.Linear(width, heads * size, bias=bias)
        self.key = nn.Linear(width, groups * size, bias=bias)
        self.value = nn.Linear(width, groups * size, bias=bias)
        self.out = nn.Linear(width, width, bias=bias)

    def forward(self, x: torch.Tensor, rotation: Any = None) -> torch.Tensor:
        batch, tokens, width = x.shape
        query = self.query(x).view(batch, tokens, self.heads, -1).transpose(1, 2)
        key = self.key(x).view(batch, tokens, self.groups, -1).transpose(1, 2)
        value = self.value(x).view(batch, tokens, self.groups, -1).transpose(1, 2)
        if rotation is not None:
            query, key = rotate_positions(query, *rotation), rotate_positions(key, *rotation)
        repeats = self.heads // self.groups
        key, value = key.repeat_interleave(repeats, 1), value.repeat_interleave(repeats, 1)
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=self.causal)
        return self.out(mixed.transpose(1, 2).reshape(batch, tokens, width))


def rotate_positions(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Apply rotary positions: rotate each pair in [..., tokens, size] by its angle."""
    first, second = x.chunk(2, -1)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), -1)


class BertLayer(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.attention = Attention(width, heads, heads, causal=False, bias=True)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.down(functional.gelu(self.up(x))))


class Bert(nn.Module):
    def __init__(self, width: int = 768, layers: int = 12) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(30522, width), nn.Embedding(512, width)
        self.norm = nn.LayerNorm(width)
        self.layers = nn.ModuleList(BertLayer(width, 12) for _ in range(layers))
        self.pooler = nn.Linear(width, width)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        places = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.norm(self.words(tokens) + self.places(places))
        for layer in self.layers:
            x = layer(x)
        return torch.tanh(self.pooler(x[:, 0]))


class DecoderLayer(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.attention = Attention(width, heads, 4, causal=True, bias=False)
        self.norm1, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)
        inner = width * 11 // 4
        self.gate, self.up = (nn.Linear(width, inner, bias=False) for _ in range(2))
        self.down = nn.Linear(inner, width, bias=False)

    def forward(self, x: torch.Tensor, rotation: Any) -> torch.Tensor:
        x = x + self.attention(self.norm1(x), rotation)
        y = self.norm2(x)
        return x + self.down(functional.silu(self.gate(y)) * self.up(y))


class Decoder(nn.Module):
    def __init__(self, width: int = 512, layers: int = 22, heads: int = 8) -> None:
        super().__init__()
        self.words = nn.Embedding(32000, width)
        self.layers = nn.ModuleList(DecoderLayer(width, heads) for _ in range(layers))
        self.norm, self.head = nn.RMSNorm(width), nn.Linear(width, 32000, bias=False)
        size = width // heads
        self.register_buffer("rates", 10000 ** (-torch.arange(0, size, 2) / size))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        angles = torch.outer(torch.arange(tokens.shape[1], device=tokens.device), self.rates)
        x, rotation = self.words(tokens), (angles.cos(), angles.sin())
        for layer in self.layers:
            x = layer(x, rotation)
        return self.head(self.norm(x))


class Bottleneck(nn.Module):
    def __init__(self, inside: int, width: int, stride: int) -> None:
        super().__init__()
        out = 4 * width
        self.body = nn.Sequential(
            *_convolution(inside, width, 1), nn.ReLU(),
            *_convolution(width, width, 3, stride), nn.ReLU(),
            *_convolution(width, out, 1),
        )  # fmt: skip
        same = inside == out and stride == 1
        self.side = nn.Identity() if same else nn.Sequential(*_convolution(inside, out, 1, stride))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.relu(self.body(x) + self.side(x))


def _convolution(inside: int, out: int, size: int, stride: int = 1) -> list[nn.Module]:
    kernel = nn.Conv2d(inside, out, size, stride, size // 2, bias=False)
    return [kernel, nn.BatchNorm2d(out)]


def _resnet50() -> nn.Module:
    layers: list[nn.Module] = [*_convolution(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    inside = 64
    for number, (width, blocks) in enumerate(((64, 3), (128, 4), (256, 6), (512, 3))):
        for block in range(blocks):
            layers.append(Bottleneck(inside, width, 2 if number and not block else 1))
            inside = 4 * width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inside, 1000))


def bert_base() -> FunctionCall:
    return Bert().eval().requires_grad_(False), (torch.randint(0, 30522, (1, 128)),)


def resnet50() -> FunctionCall:
    return _resnet50().eval().requires_grad_(False), (torch.randn(1, 3, 224, 224),)


def decoder_22() -> FunctionCall:
    return Decoder().eval().requires_grad_(False), (torch.randint(0, 32000, (1, 128)),)


MODELS: dict[str, Callable[[], FunctionCall]] = {
    "bert_base": bert_base,
    "resnet50": resnet50,
    "decoder_22": decoder_22,
}
