"""A package made on a GPU: what it says of the machine, and what it holds.

The last rows load it where no GPU is visible, and give it other weights without a new compile.
"""
# tclab: needs=cuda,triton,cxx timeout=300

import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import PurePath
from zipfile import ZipFile

import torch
from torch import nn

import tclab

LOAD = "import sys, torch; torch._inductor.aoti_load_package(sys.argv[1])"


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.norm = nn.Linear(256, 256), nn.LayerNorm(256)

    def forward(self, x):
        return torch.relu(self.norm(self.linear(x)))


def without_a_gpu(path):
    """How a process that sees no GPU ends when it loads the package, and its last words."""
    hidden = os.environ | {"CUDA_VISIBLE_DEVICES": ""}
    run = subprocess.run(
        [sys.executable, "-c", LOAD, path], env=hidden, capture_output=True, text=True, timeout=120
    )
    words = [line for line in run.stderr.splitlines() if "Error" in line]
    return run.returncode, words[-1][:200] if words else ""


torch.manual_seed(0)
torch.set_grad_enabled(False)
model, x = Model().cuda().eval(), torch.randn(64, 256, device="cuda")
other = Model().cuda().eval()
with tempfile.TemporaryDirectory() as folder:
    path = torch._inductor.aoti_compile_and_package(
        torch.export.export(model, (x,)), package_path=f"{folder}/model.pt2"
    )
    with ZipFile(path) as package:
        kinds = Counter(PurePath(name).suffix for name in package.namelist())
    loaded = torch._inductor.aoti_load_package(path)
    metadata, result = loaded.get_metadata(), loaded(x)
    with tclab.capture() as calls:
        loaded.load_constants(other.state_dict(), check_full_update=True)
        renewed = loaded(x)
    status, words = without_a_gpu(path)
capability = "".join(map(str, torch.cuda.get_device_capability()))
tclab.show(tclab.Table(
    title="What the package says", name="metadata", columns=("key", "value"),
    rows=sorted((k, v) for k, v in metadata.items() if k.startswith("AOTI")),
))  # fmt: skip
tclab.show(tclab.Table(
    title="What it holds", name="files", columns=("files", "how many"), rows=sorted(kinds.items()),
))  # fmt: skip
tclab.show(words, title="Loaded where no GPU is visible", name="hidden")

# claim: it-names-the-capability
assert capability in metadata["AOTI_COMPUTE_CAPABILITY"]
# claim: and-the-device
assert metadata["AOTI_DEVICE_KEY"] == "cuda"
# claim: it-holds-machine-code
assert kinds[".cubin"] >= 1 and kinds[".so"] == 1
# claim: its-result-is-right
assert torch.allclose(result, model(x), rtol=1e-3, atol=1e-3)
# claim: weights-can-be-replaced
assert torch.allclose(renewed, other(x), rtol=1e-3, atol=1e-3)
assert not torch.allclose(renewed, result, atol=1e-2)
# claim: without-a-compile
assert not calls.graphs and not calls.kernels
# claim: without-a-gpu-it-does-not-load
assert status != 0
