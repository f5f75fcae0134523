"""Say what `tclab explain --measure` adds to a plain `tclab explain`: seconds and memory.

``PYTHONPATH=src python -m benchmarks.measuring --out FILE [NAME …]`` explains functions plain, with
`--measure`, and with `--measure --measure-seconds 20`, in turns, each in a process of its own. A
row has, of each way, the wall-clock seconds, the processor's
seconds of all its processes, which other programs change less, and the peak of the largest process.
Rows that FILE has already are not measured again.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.floors import describe_environment

_FILE = """
import torch
from torch import nn
from torch.nn import functional as F

def addition(x):
    return x + 1

def chain(x):
    for _ in range(6):
        x = torch.tanh(x * x + 1) * torch.sigmoid(x)
    return x

def norm(x):
    return F.layer_norm(x, x.shape[-1:])

def product(x):
    return torch.relu(x @ x)

def attention(x):
    return F.scaled_dot_product_attention(x, x, x, is_causal=True)

def broken(x):
    y = torch.sin(x)
    print(y.shape)
    return torch.cos(y)

class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(*(nn.Linear(256, 256) for _ in range(4)))

    def forward(self, x):
        return torch.relu(self.layers(x))

def train(x):
    return (torch.sigmoid(x) * x).sum()
"""
#: Function → its arguments.
_FUNCTIONS: dict[str, list[str]] = {
    "addition": ["--input", "f32[4]"],
    "chain": ["--input", "f32[512,2048]"],
    "norm": ["--input", "f32[512,1024]"],
    "product": ["--input", "f32[512,512]"],
    "attention": ["--input", "f32[1,4,256,64]"],
    "broken": ["--input", "f32[256,256]"],
    "Layers": ["--input", "f32[64,256]"],
    "train": ["--input", "f32[256,256]", "--backward"],
}
_WAYS: dict[str, list[str]] = {
    "plain": [],
    "measured": ["--measure"],
    "bounded": ["--measure", "--measure-seconds", "20"],
}


def explain(file: Path, name: str, more: Sequence[str]) -> dict[str, Any]:
    """Explain a function in a new process; return seconds, and MiB of its largest process."""
    words = [
        f"{file}:{name}",
        *_FUNCTIONS[name],
        *more,
        "-o",
        str(file.with_name(f"{name}{len(more)}.html")),
    ]
    since = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "tclab", "explain", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, used = os.wait4(process.pid, 0)  # with the processes that it waited for
    process.returncode = os.waitstatus_to_exitcode(status)
    return {
        "status": process.returncode,
        "wall": time.perf_counter() - since,
        "processor": used.ru_utime + used.ru_stime,
        "peak": used.ru_maxrss / 1024,
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Explain each function in each way that FILE lacks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(_FUNCTIONS))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--ways", nargs="+", choices=list(_WAYS), default=list(_WAYS))
    given = parser.parse_args(arguments)
    whole = json.loads(given.out.read_text()) if given.out.exists() else {"rows": []}
    environment, today = describe_environment("")
    whole |= {"environment": environment, "recorded": today}
    done = {(row["name"], row["way"]) for row in whole["rows"]}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "cost.py")
        file.write_text(_FILE)
        for name in given.names:
            for way in given.ways:
                if (name, way) not in done:
                    row = {"name": name, "way": way} | explain(file, name, _WAYS[way])
                    whole["rows"].append(row | {"load": os.getloadavg()[0]})
                    print(whole["rows"][-1], flush=True)
                    given.out.write_text(json.dumps(whole, indent=1) + "\n")


if __name__ == "__main__":
    main()
