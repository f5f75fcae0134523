"""Three compilers whose wheels install here and do not import: what each says is missing.

The newest release of each is installed without what it depends on, and is imported beside this
PyTorch in a process of its own.
"""
# tclab: needs=packages timeout=120

import inspect
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import tclab


def tensorrt():
    import torch_tensorrt  # noqa: F401


def xla():
    import torch_xla  # noqa: F401


def ipex():
    import intel_extension_for_pytorch  # noqa: F401


SYSTEMS = {
    "TensorRT": ("torch_tensorrt", tensorrt),
    "PyTorch/XLA": ("torch_xla", xla),
    "IPEX": ("intel_extension_for_pytorch", ipex),
}


def imported(function):
    """Whether a process can do it, and the line of its output that has the error."""
    code = f"{inspect.getsource(function)}\n{function.__name__}()"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    lines = [line for line in (run.stdout + run.stderr).splitlines() if line[:1].strip()]
    error = next((line for line in lines if re.search("error|ERROR|Error", line)), "")
    return run.returncode == 0, re.sub(r"\S*/(\S+\.so)", r"\1", error)


outcome, rows = {}, []
for system, (package, function) in SYSTEMS.items():
    fine, said = outcome[system] = imported(function)
    asked = [each for each in metadata.requires(package) if re.match(r"torch\b[^-_]", each)]
    release = f"{package} {metadata.version(package)}"
    rows.append((system, release, ", ".join(asked) or None, "imports" if fine else said))
columns = ("system", "release", "asks for", "imported beside this PyTorch")
tclab.show(tclab.Table("What cannot be imported", "away", columns, rows))

backends = metadata.distribution("torch_tensorrt").locate_file("torch_tensorrt/dynamo/backend")
source = "".join(path.read_text() for path in sorted(Path(backends).glob("*.py")))
# claim: torch-tensorrt-registers-the-name
assert {"tensorrt", "torch_tensorrt"} <= set(re.findall(r'register_backend\(name="(\w+)"', source))
# claim: none-imports
assert not any(fine for fine, _ in outcome.values()), outcome
# claim: torch-tensorrt-needs-tensorrt
assert "No module named 'tensorrt'" in outcome["TensorRT"][1], outcome
# claim: torch-xla-was-built-for-another-pytorch
assert "undefined symbol" in outcome["PyTorch/XLA"][1], outcome
# claim: ipex-wants-2-8
assert "needs to work with PyTorch 2.8" in outcome["IPEX"][1], outcome
