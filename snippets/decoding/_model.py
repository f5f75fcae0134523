"""A small decoder with a cache of keys and values, which grows or has a fixed length.

`tokens` is [batch, new]; `positions` is [new], a tensor: where these tokens stand in the text.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention


class Growing:
    """Keys and values of one layer; each call appends, so that the next tensors are longer."""

    def __init__(self, batch, heads, size, like):
        self.keys = like.new_empty(batch, heads, 0, size)
        self.values = like.new_empty(batch, heads, 0, size)

    def update(self, keys, values, positions):
        self.keys = torch.cat([self.keys, keys], dim=2)
        self.values = torch.cat([self.values, values], dim=2)
        return self.keys, self.values


class Static:
    """The same in two tensors of `length`, made once; each call writes at its positions."""

    def __init__(self, batch, heads, size, like, length):
        self.keys = like.new_zeros(batch, heads, length, size)
        self.values = like.new_zeros(batch, heads, length, size)

    def update(self, keys, values, positions):
        self.keys.index_copy_(2, positions, keys)
        self.values.index_copy_(2, positions, values)
        return self.keys, self.values


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList(nn.RMSNorm(width) for _ in range(2))
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.wide = nn.Linear(width, 4 * width, bias=False)
        self.narrow = nn.Linear(4 * width, width, bias=False)

    def forward(self, x, positions, cache):
        batch, new, width = x.shape
        q, k, v = self.qkv(self.norms[0](x)).view(batch, new, 3, self.heads, -1).unbind(2)
        k, v = cache.update(k.transpose(1, 2), v.transpose(1, 2), positions)
        seen = torch.arange(k.shape[2], device=x.device) <= positions[:, None]  # [new, length]
        heads = scaled_dot_product_attention(q.transpose(1, 2), k, v, attn_mask=seen)
        x = x + self.out(heads.transpose(1, 2).reshape(batch, new, width))
        return x + self.narrow(nn.functional.gelu(self.wide(self.norms[1](x))))


class Decoder(nn.Module):
    def __init__(self, layers=2, width=64, heads=4, vocabulary=128, longest=4096):
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.embed = nn.Embedding(vocabulary, width)
        self.place = nn.Embedding(longest, width)
        self.layers = nn.ModuleList(Layer(width, heads) for _ in range(layers))
        self.norm = nn.RMSNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens, positions, caches):
        """Logits for the token after the last, [batch, vocabulary]."""
        x = self.embed(tokens) + self.place(positions)
        for layer, cache in zip(self.layers, caches, strict=True):
            x = layer(x, positions, cache)
        return self.head(self.norm(x[:, -1]))

    def caches(self, batch=1, length=None):
        """One cache a layer: of fixed `length`, or growing."""
        like = (batch, self.heads, self.size, self.head.weight)
        return [Growing(*like) if length is None else Static(*like, length) for _ in self.layers]
