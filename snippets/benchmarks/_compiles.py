"""One compile in a process of its own, with a cache folder of its own: its seconds.

As a program: python _compiles.py LAYERS WAY DEVICE prints the seconds of the first call.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time

import torch
from torch import nn

WIDTH, TOKENS = 512, 256
_CACHES = ("TORCHINDUCTOR_FX_GRAPH_CACHE", "TORCHINDUCTOR_AUTOGRAD_CACHE")
_ON = dict.fromkeys(_CACHES, "1") | {"TORCHINDUCTOR_COMPILE_THREADS": "1"}


def seconds(layers: int, way: str, folder: str, device: str) -> float:
    """Of the first call in a new process: `way` is whole or regional. CalledProcessError."""
    places = {"TORCHINDUCTOR_CACHE_DIR": folder, "TRITON_CACHE_DIR": f"{folder}/triton"}
    command = [sys.executable, __file__, str(layers), way, device]
    env = {**os.environ, **_ON, **places}
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, check=True)
    return float(done.stdout.split()[-1])


def encoder(layers: int, device: str) -> nn.TransformerEncoder:
    """torch's own encoder: [batch, tokens, width] → the same."""
    layer = nn.TransformerEncoderLayer(
        WIDTH, WIDTH // 64, 4 * WIDTH, 0.0, "gelu", batch_first=True, norm_first=True
    )
    return nn.TransformerEncoder(layer, layers, enable_nested_tensor=False).to(device)


def _first_call(layers: int, way: str, device: str) -> float:
    model = encoder(layers, device)
    x = torch.randn(4, TOKENS, WIDTH, device=device)
    model(x).sum().backward()  # what eager itself needs for the first time
    for part in model.layers if way == "regional" else [model]:
        part.compile()
    start = time.perf_counter()
    model(x).sum().backward()
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - start


if __name__ == "__main__":
    print(_first_call(int(sys.argv[1]), sys.argv[2], sys.argv[3]))
