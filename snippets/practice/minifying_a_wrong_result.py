"""From a wrong result to the one operation that is wrong, in an empty folder.

The fault is planted: Inductor has an option, for tests, that makes its ReLU on a CPU wrong. The
variables of the commands are read when PyTorch is imported; here the same is set in a fork.
"""
# tclab: needs=cxx timeout=240

import os
import re
import runpy
import sys
import tempfile
from pathlib import Path

import torch
from _child import logged

import tclab

PROGRAM = """\
import sys, torch
torch._inductor.config.cpp.inject_relu_bug_TESTING_ONLY = "accuracy"

def f(x):
    return torch.relu(x.sin() * 2) + 1

x = torch.linspace(-3, 3, 64)
backend = sys.argv[1] if len(sys.argv) > 1 else "inductor"
print(backend, torch.allclose(torch.compile(f, backend=backend)(x), f(x)))
"""
BACKENDS = ("eager", "aot_eager", "aot_eager_decomp_partition", "inductor")
LAUNCHER = "torch_compile_debug/run_*/minifier/minifier_launcher.py"


def started(folder, program, *arguments, minify=False):
    """As `python program arguments`, in the folder: what it printed, and the error's name."""
    os.chdir(folder)
    sys.argv = [program, *arguments]
    torch._dynamo.config.repro_after = "aot" if minify else None
    torch._dynamo.config.repro_level = 4
    torch._dynamo.config.debug_dir_root = os.path.join(folder, "torch_compile_debug")
    sys.stdout = output = open("stdout.txt", "w+")
    error = ""
    try:
        runpy.run_path(program, run_name="__main__")
    except Exception as raised:
        error = type(raised).__name__
    output.seek(0)
    return output.read().strip(), error


def step(*args, **options):
    return logged("", lambda: started(*args, **options))[0]


with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    (folder / "program.py").write_text(PROGRAM)
    right = {backend: step(folder, "program.py", backend)[0] for backend in BACKENDS}
    _, dumped = step(folder, "program.py", minify=True)
    (launcher,) = folder.glob(LAUNCHER)
    before = (folder / "repro.py").read_text() if (folder / "repro.py").exists() else ""
    _, minified = step(folder, str(launcher), "minify", "--no-isolate")
    repro = (folder / "repro.py").read_text()
    _, alone = step(folder, "repro.py")


def forward(source):
    """The graph in a repro, as text."""
    lines = source[source.index("    def forward") :].splitlines()
    return "\n".join(lines[: next(n for n, line in enumerate(lines) if "return" in line) + 1])


program = tclab.Listing(title="program.py", name="program", language="python", code=PROGRAM)
tclab.show(program)
tclab.show(
    tclab.Table(
        title="Which stage?",
        name="stages",
        columns=("backend", "as eager"),
        rows=[(backend, said.endswith("True")) for backend, said in right.items()],
    )
)
tclab.show(tclab.Listing(title="Before", name="before", language="python", code=forward(before)))
tclab.show(tclab.Listing(title="After", name="after", language="python", code=forward(repro)))
operations = re.findall(r"torch\.ops\.([\w.]+)\(", forward(repro))

# claim: inductor-alone-is-wrong
assert [backend for backend, said in right.items() if not said.endswith("True")] == ["inductor"]
# claim: the-program-ends-with-an-accuracy-error
assert dumped == "AccuracyError"
# claim: a-launcher-and-a-repro-are-written
assert launcher.name == "minifier_launcher.py" and before
# claim: one-operation-is-left
assert operations == ["aten.relu.default"] and not minified
# claim: it-names-the-version
assert f"# torch version: {torch.__version__}" in repro
# claim: and-sets-the-option
assert "inject_relu_bug_TESTING_ONLY = 'accuracy'" in repro
# claim: the-repro-fails-alone
assert alone == "AccuracyError"
