"""Build models that need only torch: a diffusion UNet, a recommender, an LSTM, a transformer."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import nn

from tclab.workshop.catalog.models import builders
from tclab.workshop.catalog.subject import Subject, inference_dtype

Inputs = Callable[[int], tuple[torch.Tensor, ...]]


class TimedResidual(nn.Module):
    """Two convolutions with group norms and a time embedding: [b, in, h, w] → [b, out, h, w]."""

    def __init__(self, in_channels: int, out_channels: int, time_width: int) -> None:
        super().__init__()
        self.norms = nn.ModuleList([nn.GroupNorm(8, in_channels), nn.GroupNorm(8, out_channels)])
        self.convs = nn.ModuleList(
            [
                nn.Conv2d(in_channels, out_channels, 3, padding=1),
                nn.Conv2d(out_channels, out_channels, 3, padding=1),
            ]
        )
        self.time = nn.Linear(time_width, out_channels)
        self.skip = nn.Conv2d(in_channels, out_channels, 1)

    def forward(self, x: torch.Tensor, time: torch.Tensor) -> torch.Tensor:
        """Return [b, out, h, w] for x of [b, in, h, w] and a time embedding of [b, time]."""
        h = self.convs[0](F.silu(self.norms[0](x))) + self.time(F.silu(time))[:, :, None, None]
        return self.skip(x) + self.convs[1](F.silu(self.norms[1](h)))


class PixelAttention(nn.Module):
    """Self-attention over the pixels of [b, channels, h, w]."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm = nn.GroupNorm(8, channels)
        self.mixed, self.out = nn.Linear(channels, 3 * channels), nn.Linear(channels, channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return a tensor of the same shape."""
        b, c, h, w = x.shape
        pixels = self.norm(x).flatten(2).transpose(1, 2)  # [b, h·w, c]
        q, k, v = self.mixed(pixels).unflatten(-1, (3, -1, 32)).permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
        return x + self.out(seen).transpose(1, 2).reshape(b, c, h, w)


class UNet(nn.Module):
    """A denoiser as in diffusion models: a down path, a middle, an up path with skip connections,
    and a time embedding.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        sizes = [width, 2 * width, 4 * width]
        self.time = nn.Sequential(
            nn.Linear(width, 4 * width), nn.SiLU(), nn.Linear(4 * width, width)
        )
        self.first, self.last = nn.Conv2d(4, width, 3, padding=1), nn.Conv2d(width, 4, 3, padding=1)
        pairs = list(zip([width, *sizes], sizes))
        self.down = nn.ModuleList(TimedResidual(a, b, width) for a, b in pairs)
        self.middle = nn.ModuleList(
            [TimedResidual(sizes[-1], sizes[-1], width), PixelAttention(sizes[-1])]
        )
        self.up = nn.ModuleList(TimedResidual(2 * b, a, width) for a, b in reversed(pairs))
        self.width = width

    def forward(self, x: torch.Tensor, times: torch.Tensor) -> torch.Tensor:
        """Return the noise of x [b, 4, h, w] at the times [b], in the same shape."""
        steps = torch.exp(torch.arange(self.width // 2, device=x.device) * -(9.2 / self.width * 2))
        angles = times[:, None] * steps
        time = self.time(torch.cat([angles.sin(), angles.cos()], -1).to(x.dtype))
        h, skips = self.first(x), []
        for block in self.down:
            h = block(h, time)
            skips.append(h)
            h = F.avg_pool2d(h, 2)
        h = self.middle[1](self.middle[0](h, time))
        for block in self.up:
            h = F.interpolate(h, scale_factor=2.0, mode="nearest")
            h = block(torch.cat([h, skips.pop()], 1), time)
        return self.last(h)


class DLRM(nn.Module):
    """A recommender: embeddings of categories and an MLP of numbers, then their pairwise products,
    then an MLP.
    """

    def __init__(self, tables: int, rows: int, width: int) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(rows, width, mode="sum") for _ in range(tables))
        self.dense = nn.Sequential(
            nn.Linear(13, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, width)
        )
        pairs = (tables + 1) * tables // 2
        self.top = nn.Sequential(
            nn.Linear(width + pairs, 512),
            nn.ReLU(),
            nn.Linear(512, 256),
            nn.ReLU(),
            nn.Linear(256, 1),
        )
        self.register_buffer("pairs", torch.tril_indices(tables + 1, tables + 1, -1))

    def forward(self, numbers: torch.Tensor, categories: torch.Tensor) -> torch.Tensor:
        """Return logits [b] for `numbers` [b, 13] and `categories` [b, tables, bag]."""
        dense = self.dense(numbers)
        bags = [table(categories[:, i]) for i, table in enumerate(self.tables)]
        all_of = torch.stack([dense, *bags], 1)  # [b, tables + 1, width]
        products = (all_of @ all_of.mT)[:, self.pairs[0], self.pairs[1]]
        return self.top(torch.cat([dense, products], -1)).squeeze(-1)


class LSTM(nn.Module):
    """A language model on torch's LSTM: tokens [b, t] → logits [b, t, words]."""

    def __init__(self, vocabulary_size: int, width: int, layers: int) -> None:
        super().__init__()
        self.embed, self.out = (
            nn.Embedding(vocabulary_size, width),
            nn.Linear(width, vocabulary_size),
        )
        self.cells = nn.LSTM(width, width, layers, batch_first=True)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return the logits of the next token."""
        return self.out(self.cells(self.embed(tokens))[0])


class Transformer(nn.Module):
    """A stack of torch's own encoder layers over embedded tokens: [b, t] → logits [b, t, words]."""

    def __init__(self, vocabulary_size: int, width: int, layers: int) -> None:
        super().__init__()
        self.embed, self.out = (
            nn.Embedding(vocabulary_size, width),
            nn.Linear(width, vocabulary_size),
        )
        layer = nn.TransformerEncoderLayer(
            width, width // 64, 4 * width, 0.0, "gelu", batch_first=True, norm_first=True
        )
        self.layers = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return the logits of each token."""
        return self.out(self.layers(self.embed(tokens)))


class Feed(nn.Module):
    """The feed-forward half of a transformer's block: [b, width] → [b, width]."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return x + down(gelu(up(norm(x)))), in the same shape."""
        return x + self.down(F.gelu(self.up(self.norm(x))))


def _make_on(device: str, make: Callable[[], nn.Module]) -> nn.Module:
    with torch.device(device):
        return make()


def _random(device: str, *parts: tuple[str, tuple[int, ...]], bound: int = 1000) -> Inputs:
    """Return a function that makes random arguments of these kinds and shapes from a seed.

    The kinds are ``float`` (normally distributed, in the device's dtype), ``single`` (the same in
    float32) and ``int`` (integers below `bound`).
    """

    def make_tensor(kind: str, shape: tuple[int, ...]) -> torch.Tensor:
        if kind == "int":
            return torch.randint(bound, shape, device=device)
        dtype = inference_dtype(device) if kind == "float" else torch.float32
        return torch.randn(shape, device=device, dtype=dtype)

    def inputs(seed: int) -> tuple[torch.Tensor, ...]:
        torch.manual_seed(seed)
        return tuple(make_tensor(kind, shape) for kind, shape in parts)

    return inputs


def _unet(device: str, tiny: int) -> tuple[nn.Module, int]:
    width, pixels = (32, 16) if tiny or device == "cpu" else (128, 64)
    return _make_on(device, lambda: UNet(width)), pixels


def unet(device: str, *, batch: int, tiny: int = 0) -> Subject:
    """Run one denoising step."""
    model, pixels = _unet(device, tiny)
    inputs = _random(device, ("float", (batch, 4, pixels, pixels)), ("single", (batch,)))
    return builders.make_inference(model, inputs, device)


def unet_training(device: str, *, batch: int, tiny: int = 0) -> Subject:
    """Train one step of predicting the noise."""
    model, pixels = _unet(device, tiny)
    image = ("single", (batch, 4, pixels, pixels))
    return builders.make_training(
        model, _random(device, image, ("single", (batch,)), image), F.mse_loss, device
    )


def _dlrm(device: str, batch: int, tiny: int) -> tuple[nn.Module, tuple[int, ...]]:
    tables, rows = (4, 1000) if tiny or device == "cpu" else (26, 100_000)
    return _make_on(device, lambda: DLRM(tables, rows, 64)), (batch, tables, 8)


def dlrm(device: str, *, batch: int, tiny: int = 0) -> Subject:
    """Compute the scores of a batch."""
    model, bags = _dlrm(device, batch, tiny)
    return builders.make_inference(
        model, _random(device, ("float", (batch, 13)), ("int", bags)), device
    )


def dlrm_training(device: str, *, batch: int, tiny: int = 0) -> Subject:
    """Train one step of regression on clicks."""
    model, bags = _dlrm(device, batch, tiny)
    inputs = _random(device, ("single", (batch, 13)), ("int", bags), ("single", (batch,)))
    return builders.make_training(model, inputs, F.mse_loss, device)


def _tokens(
    device: str, make: Callable[[int, int, int], nn.Module], batch: int, tiny: int
) -> tuple[nn.Module, tuple[int, int]]:
    words, width, layers, tokens = (1000, 64, 2, 16) if tiny else (8000, 512, 6, 256)
    if device == "cpu" and not tiny:
        words, width, layers, tokens = 2000, 256, 2, 64
    return _make_on(device, lambda: make(words, width, layers)), (batch, tokens)


def _next_token(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return F.cross_entropy(logits.flatten(0, 1), target.flatten())


def _language(
    device: str, make: Callable[[int, int, int], nn.Module], batch: int, tiny: int, step: bool
) -> Subject:
    model, shape = _tokens(device, make, batch, tiny)
    if not step:
        return builders.make_inference(model, _random(device, ("int", shape)), device)
    inputs = _random(device, ("int", shape), ("int", shape))
    return builders.make_training(model, inputs, _next_token, device)


def lstm(device: str, *, batch: int, tiny: int = 0) -> Subject:
    """Compute the logits of a batch of texts."""
    return _language(device, LSTM, batch, tiny, step=False)


def lstm_training(device: str, *, batch: int, tiny: int = 0) -> Subject:
    """Train one step of predicting the next token."""
    return _language(device, LSTM, batch, tiny, step=True)


def transformer(device: str, *, batch: int, tiny: int = 0) -> Subject:
    """Compute the logits of a batch of texts."""
    return _language(device, Transformer, batch, tiny, step=False)


def transformer_of_length(device: str, *, batch: int, tokens: int, tiny: int = 0) -> Subject:
    """Compute the transformer's logits for texts of a given length, for sweeps over the length."""
    model, _ = _tokens(device, Transformer, batch, tiny)
    return builders.make_inference(model, _random(device, ("int", (batch, tokens))), device)


def transformer_training(device: str, *, batch: int, tiny: int = 0) -> Subject:
    """Train one step of predicting each token."""
    return _language(device, Transformer, batch, tiny, step=True)


def feed_forward(device: str, *, batch: int, width: int = 1024, layers: int = 8) -> Subject:
    """Run a stack of feed-forward blocks, for sweeps over the batch."""
    model = _make_on(device, lambda: nn.Sequential(*(Feed(width) for _ in range(layers))))
    return builders.make_inference(model, _random(device, ("float", (batch, width))), device)
