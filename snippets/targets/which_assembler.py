"""The assembler `ptxas`: the one that PyTorch brings and the one that Triton brings.

A CUDA build of PyTorch may have a `ptxas` of its own. The PTX of the same kernels is assembled by
both, and the instructions are compared.
"""
# tclab: needs=cuda,triton

import os
import re
import subprocess
import tempfile
from pathlib import Path

import torch
import torch.nn.functional as F
import triton

import tclab

TOOLS = Path(triton.__file__).parent / "backends" / "nvidia" / "bin"
PYTORCHS, TRITONS = Path(torch.__file__).parent / "bin" / "ptxas", TOOLS / "ptxas"
# Cuda compilation tools, release 12.8, V12.8.93
RELEASE = re.compile(r"release (\d+\.\d+)")
#         /*0070*/                   LDC.64 R8, c[0x0][0x210] ;
INSTRUCTION = re.compile(r"/\*[0-9a-f]{4,}\*/ +(.*?) *;")
# .version 9.0
VERSION = re.compile(r"(?m)^\.version .*$")


def pointwise(x, y):
    return torch.relu(x + 1) * y.tanh()


def rms_norm(x, weight):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * weight


def log_softmax(x, weight):
    with torch.autocast("cuda", torch.bfloat16):
        scores = F.linear(x, weight)
    return F.log_softmax(scores.float(), dim=-1)


def inputs():
    """Each function with its inputs. Those that need no gradient are not parameters."""
    made = torch.randn(16, 128, 1024, device="cuda")
    scale, weight = torch.randn(1024, device="cuda"), torch.randn(512, 1024, device="cuda")
    yield pointwise, (made.clone().requires_grad_(), made)
    yield rms_norm, (made, scale.requires_grad_())
    yield log_softmax, (made.clone().requires_grad_(), weight.requires_grad_())


def release(ptxas):
    return RELEASE.search(subprocess.check_output([ptxas, "--version"], text=True))[1]


def instructions(ptx, ptxas):
    """The instructions that an assembler makes of PTX, in order."""
    with tempfile.TemporaryDirectory() as folder:
        source, binary = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
        # Each assembler gets the same text, in a version of PTX that both read.
        source.write_text(VERSION.sub(".version 8.7", ptx))
        subprocess.run([ptxas, "-lineinfo", "--gpu-name=sm_90a", source, "-o", binary], check=True)
        text = subprocess.check_output([TOOLS / "nvdisasm", binary], text=True)
    return INSTRUCTION.findall(text)


os.environ.pop("TRITON_PTXAS_PATH", None)
with tempfile.TemporaryDirectory() as folder:
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.environ["TRITON_CACHE_DIR"] = folder
    torch.compile(rms_norm)(torch.randn(8, 1024, device="cuda"), torch.ones(1024, device="cuda"))
    binaries = [file.read_bytes().decode("latin-1") for file in Path(folder).rglob("*.cubin")]
    taken = {RELEASE.search(binary)[1] for binary in binaries}
rows = []
for fn, arguments in inputs():
    for kernel in tclab.capture(fn, backward=True)(*arguments).compiled:
        ptx = kernel.stages["ptx"].code
        one, other = instructions(ptx, PYTORCHS), instructions(ptx, TRITONS)
        verdict = "same" if one == other else "other"
        rows.append((fn.__name__, verdict, len(one), len(other), kernel.name))

releases = release(PYTORCHS), release(TRITONS)
columns = ("function", "instructions", *(f"ptxas {each}" for each in releases), "kernel")
tclab.show(tclab.Table("The same PTX, by two assemblers", "assemblers", columns, rows))

# claim: this-pytorch-brings-an-assembler-of-another-release
assert releases[0] != releases[1]
# claim: inductor-takes-the-one-of-pytorch
assert taken == {releases[0]}
verdicts = [row[1] for row in rows]
# claim: some-kernels-have-other-instructions
assert "other" in verdicts
# claim: most-have-the-same
assert verdicts.count("same") > len(rows) / 2
