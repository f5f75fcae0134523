"""`torch.compiler.precompile`, of PyTorch 2.15: a computation as a Python file, without weights.

Captured once and written; a second process with an empty cache folder loads both files, and calls
them with the model's weights, with others, and with what does not fit.
"""
# tclab: needs=cxx timeout=180

import re
import tempfile
from pathlib import Path

import torch
from _process import in_a_process
from torch import nn
from torch._dynamo.utils import compilation_time_metrics

import tclab

version = tuple(map(int, torch.__version__.split(".")[:2]))


def net():
    return nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 1))


def step(model, x):
    model(x).square().mean().backward()


def gradients(call, model, x):
    model.zero_grad()
    call(model, x)
    return torch.cat([p.grad.flatten() for p in model.parameters()])


def captured(folder, seed):
    torch.manual_seed(seed)
    model, x = net(), torch.randn(8, 16)
    files = {"artifact_path": f"{folder}/step.py", "cache_path": f"{folder}/step.cache"}
    with torch.compiler.precompile.capture(step, **files) as capture:
        capture(model, x)
    return [p.detach().numpy().tobytes() for p in model.parameters()]


def refused(call, *args):
    try:
        call(*args)
    except torch.compiler.PrecompileError as error:
        return re.sub(r"^precompile: ", "", str(error)).split(";")[0][:110]
    return "taken"


def loaded(folder, seed):
    """Whether gradients are eager's for each of two models, runs of the compiler, and refusals."""
    call = torch.compiler.precompile.load(f"{folder}/step.py", f"{folder}/step.cache")
    torch.manual_seed(seed)
    x, right = torch.randn(8, 16), []
    for model in (net(), net()):
        own, eager = gradients(call, model, x), gradients(step, model, x)
        right.append(torch.allclose(own, eager, atol=1e-5))
    ran = len(compilation_time_metrics.get("compile_file", ()))
    wide = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 1))
    said = {"another size": refused(call, model, torch.randn(9, 16)),
            "another dtype": refused(call, model, x.double()),
            "a wider model": refused(call, wide, x)}  # fmt: skip
    return right, ran, said


right, ran, said, source, weights, files = [], None, {}, "", [], b""
if version < (2, 15):
    tclab.show("torch.compiler.precompile.capture came with PyTorch 2.15", title="Not here")
else:
    with tempfile.TemporaryDirectory() as folder:
        weights = in_a_process(captured, f"{folder}/one", folder, 0)
        right, ran, said = in_a_process(loaded, f"{folder}/other", folder, 1)
        source = Path(folder, "step.py").read_text()
        sizes = {p.name: p.stat().st_size for p in Path(folder).iterdir() if p.is_file()}
        files = b"".join(Path(folder, name).read_bytes() for name in sizes)
    tclab.show(tclab.Table(
        title="What was written", name="files", columns=("file", "bytes"), rows=list(sizes.items())
    ))  # fmt: skip
    tclab.show(tclab.Table(
        title="Calls that do not fit", name="refused", columns=("call with", "what is said"),
        rows=list(said.items()),
    ))  # fmt: skip
    names = re.findall(r"^(?:def|class) \w+|^[A-Z_]+(?= = )", source, re.M)
    tclab.show("\n".join(names), title="What the Python file defines", name="defines")

# claim: new-with-2-15
assert hasattr(torch.compiler, "PrecompileError") or version < (2, 15)
assert (version >= (2, 15)) == bool(source)
# claim: gradients-are-eagers, torch >= 2.15
assert version < (2, 15) or right == [True, True]
# claim: on-a-cpu-the-compiler-runs-again, torch >= 2.15
assert version < (2, 15) or ran > 0
# claim: what-does-not-fit-is-refused, torch >= 2.15
assert version < (2, 15) or (len(said) == 3 and "taken" not in said.values())
# claim: one-file-is-python, torch >= 2.15
assert version < (2, 15) or ("def forward(" in source and "class Runner" in source)
# claim: no-weight-is-in-the-files, torch >= 2.15
assert version < (2, 15) or (len(weights) == 4 and not any(w in files for w in weights))
