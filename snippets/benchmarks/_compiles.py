"""One compile in a process of its own, with a cache folder of its own: its seconds and counts.

As a program: python _compiles.py LAYERS WAY DEVICE prints what `Compiled` has, as JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import nn
from torch._dynamo.utils import counters
from torch._inductor import metrics

_CACHES = ("TORCHINDUCTOR_FX_GRAPH_CACHE", "TORCHINDUCTOR_AUTOGRAD_CACHE")
_ON = dict.fromkeys(_CACHES, "1") | {"TORCHINDUCTOR_COMPILE_THREADS": "1"}
WIDTH, TOKENS, BATCH = 512, 256, 4


class Compiled(NamedTuple):
    """Seconds of the first step; Dynamo's graphs, their kernels, hits of AOTAutograd's cache; how
    far the result is from eager's, relative to its largest.
    """

    seconds: float
    graphs: int
    kernels: int
    hits: int
    off: float


def compiled(layers: int, way: str, folder: str, device: str) -> Compiled:
    """In a new process; `way` is whole or regional. CalledProcessError."""
    places = {"TORCHINDUCTOR_CACHE_DIR": folder, "TRITON_CACHE_DIR": f"{folder}/triton"}
    command = [sys.executable, __file__, str(layers), way, device]
    env = {**os.environ, **_ON, **places}
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, check=True)
    return Compiled(*json.loads(done.stdout.splitlines()[-1]))


class Layer(nn.Module):
    """Attention and feed-forward, norms first: [batch, tokens, width] → the same.

    A class of our own: Dynamo skips the frames of PyTorch's modules, so that
    `nn.TransformerEncoder(…).compile()` compiles nothing.
    """

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.mixed, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x + attention, then that + feed-forward."""
        q, k, v = self.mixed(self.first(x)).unflatten(-1, (3, -1, 64)).permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
        x = x + self.out(seen)
        return x + self.down(F.gelu(self.up(self.second(x))))


class Encoder(nn.Module):
    """So many equal layers."""

    def __init__(self, layers: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Layer() for _ in range(layers))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """[batch, tokens, width] → the same."""
        for layer in self.layers:
            x = layer(x)
        return x


def _step(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    result = model(x)
    result.sum().backward()
    return result.detach()


def _first_step(layers: int, way: str, device: str) -> Compiled:
    torch.manual_seed(0)
    model = Encoder(layers).to(device)
    x = torch.randn(BATCH, TOKENS, WIDTH, device=device)
    expected = _step(model, x)  # what eager itself needs for the first time, too
    for part in model.layers if way == "regional" else [model]:
        part.compile()
    start = time.perf_counter()
    result = _step(model, x)
    off = ((result - expected).abs().max() / expected.abs().max()).item()
    seconds, hits = time.perf_counter() - start, counters["aot_autograd"]["autograd_cache_hit"]
    graphs, kernels = counters["stats"]["unique_graphs"], metrics.generated_kernel_count
    return Compiled(seconds, graphs, kernels, hits, off)


if __name__ == "__main__":
    print(json.dumps(_first_step(int(sys.argv[1]), sys.argv[2], sys.argv[3])))
