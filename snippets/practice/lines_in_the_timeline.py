"""Lines in the profiler's own file: `TORCH_COMPILE_DEBUG_EXTEND`, from PyTorch 2.14 on.

PyTorch then keeps the lines of each kernel that it compiles, and a trace handler of Inductor's
writes them into the exported file, at the kernels of a GPU. This is a CPU.
"""
# tclab: needs=cxx

import importlib.util
import json
import os
import tempfile
from pathlib import Path

os.environ["TORCH_COMPILE_DEBUG_EXTEND"] = "1"  # read when Inductor is imported

import torch
from torch.profiler import profile

import tclab


def f(x, w):
    y = torch.relu(x @ w + 1)
    return torch.softmax(y, -1).sum(0)


def exported(compiled, handler):
    """The events of the file that `handler` writes of one call."""
    with tempfile.TemporaryDirectory() as folder:
        with profile(on_trace_ready=handler(folder)):
            compiled(x, w)
        (file,) = Path(folder).iterdir()
        return json.loads(file.read_text(encoding="utf-8"))["traceEvents"]


torch.manual_seed(0)
x, w = torch.randn(64, 64), torch.randn(64, 64)
compiled = torch.compile(f, options={"cpp.enable_kernel_profile": True})
torch.testing.assert_close(compiled(x, w), f(x, w))
there = importlib.util.find_spec("torch._inductor.profiler") is not None
rows = [("the handler", "yes" if there else "no")]
if there:
    from torch._inductor.debug import get_kernel_information_jsons
    from torch._inductor.profiler import inductor_trace_handler

    kept = {name.rpartition(":")[0]: kernel["stack_traces"]
            for graph in get_kernel_information_jsons().values()
            for name, kernel in graph.items()}  # fmt: skip
    events = exported(compiled, inductor_trace_handler)
    left = dict(get_kernel_information_jsons())
    names = [event.get("name", "") for event in events]
    marked = [event for event in events if "stack" in event.get("args", {})]
    rows += [(f"frames kept of {name}", str(len(stacks))) for name, stacks in kept.items()]
    rows += [
        ("events in the file", str(len(events))),
        ("of these with lines", str(len(marked))),
        ("kernels whose lines are kept after the export", str(len(left))),
    ]
tclab.show(tclab.Table("Lines in the timeline", "timeline", ("what", "here"), rows))

option = hasattr(torch._inductor.config.trace, "provenance_tracking_to_timeline")
if not there:
    # claim: no-handler-before, torch < 2.14
    assert torch.__version__ < "2.14" and not option
else:
    # claim: the-variable-is-an-option, torch >= 2.14
    assert option and torch._inductor.config.trace.provenance_tracking_to_timeline
    (generated,) = (name for name in kept if name.startswith("cpp_fused"))
    # claim: each-kernel-keeps-its-lines, torch >= 2.14
    assert len(kept) == 2 and all("in f\n" in "".join(stacks) for stacks in kept.values())
    # claim: a-cpu-gets-none, torch >= 2.14
    assert any(name.endswith(generated) for name in names) and not marked
    # claim: the-first-export-takes-them, torch >= 2.14
    assert kept and not left
