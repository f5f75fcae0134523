"""The systems of `systems_on_a_cpu`: one function as a call of each, on one core."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

# Before they are imported: each makes as many threads as it sees cores.
os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
os.environ["TVM_NUM_THREADS"] = "1"

import onnxruntime  # noqa: E402
import openvino  # noqa: E402, F401 - it registers its backend as an entry point
import torch  # noqa: E402
import tvm  # noqa: E402
from tvm import relax  # noqa: E402
from tvm.relax.frontend.torch import from_exported_program  # noqa: E402

Call = Callable[[], Any]


class Module(torch.nn.Module):
    """A function as a module: what exporters take."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        super().__init__()
        self.fn = fn

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        """The function's result."""
        return self.fn(*inputs)


def torchscript(fn: Callable[..., Any], inputs: Sequence[torch.Tensor]) -> Call:
    """Traced and frozen."""
    traced = torch.jit.freeze(torch.jit.trace(Module(fn).eval(), tuple(inputs)))
    return lambda: traced(*inputs)


def compiled(fn: Callable[..., Any], inputs: Sequence[torch.Tensor]) -> Call:
    """By Inductor, for these shapes."""
    ours = torch.compile(fn, dynamic=False)
    return lambda: ours(*inputs)


def onnx_runtime(fn: Callable[..., Any], inputs: Sequence[torch.Tensor]) -> Call:
    """The exported model in a session with one thread; inputs and output are bound in place."""
    program = torch.onnx.export(Module(fn), tuple(inputs), dynamo=True, verbose=False)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        program.model_proto.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    feeds = dict(zip((each.name for each in session.get_inputs()), inputs, strict=True))
    values = {
        name: onnxruntime.OrtValue.ortvalue_from_numpy(x.numpy()) for name, x in feeds.items()
    }
    names = [session.get_outputs()[0].name]
    return lambda: torch.from_dlpack(session.run_with_ort_values(names, values)[0]._ortvalue)


def open_vino(fn: Callable[..., Any], inputs: Sequence[torch.Tensor]) -> Call:
    """Its backend, held to float32 and one thread."""
    config = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": "1"}
    ours = torch.compile(fn, backend="openvino", dynamic=False, options={"config": config})
    return lambda: ours(*inputs)


def untuned_tvm(fn: Callable[..., Any], inputs: Sequence[torch.Tensor]) -> Call:
    """Relax, as it compiles by default: nothing is tuned."""
    exported = torch.export.export(Module(fn), tuple(inputs))
    module = from_exported_program(exported, unwrap_unit_return_tuple=True)
    machine = relax.VirtualMachine(tvm.compile(module, target=_llvm()), tvm.cpu())
    arrays = [tvm.runtime.from_dlpack(x) for x in inputs]
    return lambda: torch.from_dlpack(machine["main"](*arrays))


def _llvm() -> Any:
    """This processor, as TVM names one."""
    return tvm.target.Target({"kind": "llvm", "mcpu": tvm.target.codegen.llvm_get_system_cpu()})
