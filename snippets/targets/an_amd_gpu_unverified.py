"""Kernels for an AMD Instinct MI300X, without one and without a PyTorch built for AMD.

Inductor asks `torch.version.hip`, an attribute of Python, in many places and in part when it is
imported. So the report is made in a process of its own, which sets it before that import. No AMD
device was compared, and each form of the report says so.
"""
# tclab: needs=triton timeout=240

import ast
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
import torch._inductor

import tclab
from tclab import targets
from tclab.cli.report_file import FORMATS
from tclab.model import Report

MODEL = """\
import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

def normalise(x):
    return F.layer_norm(x, (1024,)) * 2

def attends(q):
    return F.scaled_dot_product_attention(q, q, q)

def in_parts(q):
    with sdpa_kernel(SDPBackend.MATH):
        return F.scaled_dot_product_attention(q, q, q)
"""
REPORT = """\
import json, sys
from tclab.cli.report_file import FORMATS
from tclab.explain import ExplainRequest, explain_named

def report(name, size):
    words = {"target": "mi300x", "unverified": True, "inputs": [size]}
    return explain_named(ExplainRequest.parse(f"amd_model.py:{name}", **words))

made = report("normalise", "f32[512,1024]")
texts = {name: form(made) for name, form in FORMATS.items()}
refused = report("attends", "f16[2,4,64,64]").refusal.cause
parts = [row.name for row in report("in_parts", "f16[2,4,64,64]").kernels]
json.dump({"texts": texts, "refused": refused, "parts": parts}, sys.__stdout__)
"""
LABEL = "no AMD device was compared"


def asks_hip(node):
    return isinstance(node, ast.Attribute) and ast.unparse(node) == "torch.version.hip"


files = Path(torch._inductor.__file__).parent.rglob("*.py")
texts = [file.read_text(encoding="utf-8") for file in files]
asked = sum(
    sum(map(asks_hip, ast.walk(ast.parse(text)))) for text in texts if "version.hip" in text
)

os.chdir(tempfile.mkdtemp())
Path("amd_model.py").write_text(MODEL)
done = subprocess.run([sys.executable, "-c", REPORT], stdout=subprocess.PIPE, text=True, check=True)
made = json.loads(done.stdout)
report = Report.from_json(made["texts"]["json"])
(chain,) = report.chains
kernel = next(pane for pane in chain.panes if pane.stage == "kernel")
amdgcn = next(pane for pane in chain.panes if pane.stage == "amdgcn")
tclab.show(chain)
tclab.show(
    tclab.Table(
        title="Reports for an MI300X, without one",
        name="amd",
        columns=("what", "is"),
        rows=[
            ("places where Inductor asks torch.version.hip", asked),
            ("torch.version.hip here", str(torch.version.hip)),
            ("forms of the report that say that no AMD device was compared",
             f"{sum(LABEL in text for text in made['texts'].values())} of {len(made['texts'])}"),
            ("attention", made["refused"]),
            ("its kernels with SDPBackend.MATH", ", ".join(made["parts"])),
        ],
    )
)  # fmt: skip

# claim: inductor-asks-for-the-build
assert asked > 20
# claim: this-build-is-not-for-amd
assert torch.version.hip is None
# claim: inductor-writes-for-hip
assert "type='hip'" in kernel.code and "cc='gfx942'" in kernel.code
# claim: down-to-amdgcn
assert "gfx942" in amdgcn.code and "_store_dword" in amdgcn.code and "s_endpgm" in amdgcn.code
# claim: its-lines-are-linked
assert len(amdgcn.links) > 50
# claim: each-form-says-so
assert made["texts"].keys() == FORMATS.keys()
assert all(LABEL in text for text in made["texts"].values())
# claim: it-says-what-is-left-out
assert report.cost is None
assert "the least cost of a call, and how many waves" in " ".join(report.remarks)
# claim: attention-is-refused
assert "the rules for AMD's GPUs are not known here" in made["refused"]
# claim: pytorchs-own-operators-are-not
assert any("softmax" in name for name in made["parts"])

try:
    targets.get("mi300x")
except targets.TargetError as error:
    refusal = str(error)
# claim: only-unverified
assert LABEL in refusal and "--unverified" in refusal
