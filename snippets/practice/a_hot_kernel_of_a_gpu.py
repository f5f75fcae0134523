"""From the kernel that takes the GPU's time to the lines it was made of.

The profiler sums the GPU's time by kernel; a capture of the same function has each kernel's lines.
"""
# tclab: needs=cuda,triton

import json
import tempfile
from collections import defaultdict
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile

import tclab

CALLS = 10


def f(x, w, bias):
    y = torch.nn.functional.gelu(x @ w + bias)
    scores = torch.softmax(x.float(), dim=-1)
    scale = 1 + 0.1 * torch.cos(bias)
    return y * scale + scores.to(y.dtype)


torch.manual_seed(0)
x = torch.randn(8192, 4096, device="cuda", dtype=torch.bfloat16)
w = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16) * 0.02
bias = torch.randn(4096, device="cuda", dtype=torch.bfloat16)

c = tclab.capture(f)(x, w, bias)
compiled = torch.compile(f)
for _ in range(3):
    result = compiled(x, w, bias)
exact = f(*(t[:64].double() if t is x else t.double() for t in (x, w, bias)))
torch.testing.assert_close(result[:64].double(), exact, rtol=0.05, atol=0.1)
with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as seen:
    for _ in range(CALLS):
        compiled(x, w, bias)
    torch.cuda.synchronize()
with tempfile.TemporaryDirectory() as folder:
    trace = Path(folder, "trace.json")
    seen.export_chrome_trace(str(trace))
    events = json.loads(trace.read_text(encoding="utf-8"))["traceEvents"]
times = defaultdict(list)
for event in events:
    if event.get("cat") == "kernel":
        times[event["name"]].append(event["dur"])
total = sum(map(sum, times.values()))
generated = {k.kernel_name: k for k in c.kernels if k.category != "extern"}
product = [k for k in c.kernels if k.category == "extern"]


def lines(name):
    kernel = generated.get(name)
    return "; ".join(line.code for line in kernel.source_lines) if kernel else "a library's"


by_time = sorted(times.items(), key=lambda kernel: -sum(kernel[1]))
tclab.show(tclab.Table(
    title="Kernels by the GPU's time", name="kernels",
    columns=("kernel of the profiler", "launched", "one launch", "share", "from"),
    units=("", "", "µs", "%", ""), formats=("", "d", ".1f", ".0f", ""),
    rows=[(name[:60], len(each), sum(each) / len(each), 100 * sum(each) / total, lines(name))
          for name, each in by_time],
))  # fmt: skip
tclab.show(tclab.Table(
    title="The product, by the capture", name="product", columns=("kernel", "from"),
    rows=[(k.kernel_name, "; ".join(line.code for line in k.source_lines)) for k in product],
))  # fmt: skip
hot = next(name for name, _ in by_time if name in generated)
tclab.show(generated[hot], name="hot")

# claim: a-triton-kernel-has-its-own-name
assert generated and times.keys() >= generated.keys()
# claim: once-a-call
assert all(len(times[name]) == CALLS for name in generated)
# claim: the-name-leads-to-lines
assert all(k.source_lines for k in generated.values())
assert "softmax" in lines(hot) or "gelu" in lines(hot)
# claim: a-library-has-another-name
assert times.keys() - generated.keys() and len(product) == 1
# claim: the-capture-says-whose-line-it-is
assert [line.code for line in product[0].source_lines] == [
    "y = torch.nn.functional.gelu(x @ w + bias)"
]
