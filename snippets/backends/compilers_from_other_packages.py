"""One module by three compilers from other packages, on a CPU.

The packages are installed beside this PyTorch. Each result is compared with float64; where a way
fails, the table has the error that it began with.
"""
# tclab: needs=packages timeout=240 memory=8192

import re
import warnings

import onnxruntime
import onnxscript  # noqa: F401 - torch.onnx writes with it
import torch
import tvm
from openvino.frontend.pytorch.torchdynamo import execute
from tvm import relax
from tvm.relax.frontend.torch import from_exported_program

import tclab

warnings.simplefilter("ignore")
torch.set_grad_enabled(False)


class Head(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = torch.nn.Linear(64, 128), torch.nn.Linear(128, 64)

    def forward(self, x):
        return torch.softmax(self.down(torch.relu(self.up(x))), -1)


def by_onnx_runtime(model, x):
    program = torch.onnx.export(model, (x,), dynamo=True, verbose=False)
    session = onnxruntime.InferenceSession(
        program.model_proto.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return torch.from_numpy(session.run(None, {session.get_inputs()[0].name: x.numpy()})[0])


def by_tvm(model, x):
    exported = torch.export.export(model, (x,))
    module = from_exported_program(exported, unwrap_unit_return_tuple=True)
    machine = relax.VirtualMachine(tvm.compile(module, target="llvm"), tvm.cpu())
    return torch.from_dlpack(machine["main"](tvm.runtime.from_dlpack(x)))


def by_backend(name):
    def call(model, x):
        torch._dynamo.reset()
        return torch.compile(model, backend=name)(x)

    return call


WAYS = {
    ("ONNX Runtime", "torch.onnx.export, InferenceSession"): by_onnx_runtime,
    ("OpenVINO", 'backend="openvino"'): by_backend("openvino"),
    ("TVM", 'backend="tvm"'): by_backend("tvm"),
    ("TVM", "torch.export, tvm.relax"): by_tvm,
}
torch.manual_seed(0)
model, x = Head().eval(), torch.randn(8, 64)
exact, rows, why = model.double()(x.double()), [], {}
model.float()
for (system, way), call in WAYS.items():
    try:
        error, said = (call(model, x) - exact).abs().max().item(), "runs"
        if "openvino" in way and not execute.compiled_cache:  # what it compiled itself
            said = "Inductor runs instead, without a word"
    except Exception as problem:
        while cause := getattr(problem, "inner_exception", None) or problem.__cause__:
            problem = cause
        error, said = None, re.sub(r" \(.*\)$", "", str(problem))
    why[way] = said
    rows.append((system, way, said, error))
columns = ("system", "by", "here", "largest error")
formats = ("", "", "", ".0e")
tclab.show(tclab.Table("A small module", "ways", columns, rows, formats=formats))

# claim: onnx-runtime-and-tvm-run-here
assert why["torch.onnx.export, InferenceSession"] == why["torch.export, tvm.relax"] == "runs", why
# claim: backend-tvm-looks-for-relay, torch < 2.14
assert why['backend="tvm"'] == "cannot import name 'relay' from 'tvm'", why
# claim: backend-tvm-runs, torch >= 2.14
assert why['backend="tvm"'] == "runs", why
# claim: openvino-runs, torch >= 2.12
assert why['backend="openvino"'] == "runs", why
errors = {way: error for _, way, _, error in rows}
# claim: openvino-rounds-more, torch >= 2.12
assert errors['backend="openvino"'] > 100 * errors["torch.onnx.export, InferenceSession"], errors
# claim: openvino-leaves-it-to-inductor, torch < 2.12
assert why['backend="openvino"'].startswith("Inductor"), why
# claim: onnx-runtime-has-a-cpu-provider
assert "CPUExecutionProvider" in onnxruntime.get_available_providers()
