"""The same functions on one core of a CPU: eager, TorchScript, torch.compile and four others.

Float32, on the same memory. Each result is compared with float64 first. The process may use one
core, since the systems count threads in different ways, and a time is that of the processor, over
all threads. They take turns, and the least of the stretches counts.
"""
# tclab: needs=packages,cxx alone=true timeout=300 memory=8192

import time
import warnings

import _systems_cpu as systems
import torch
from _systems import chain, feed_forward, of_jax, softmax, waited
from _tables import table

import tclab

warnings.simplefilter("ignore")
torch.set_grad_enabled(False)
torch.set_num_threads(1)
torch.manual_seed(0)

WEIGHTS = [torch.randn(s) * 0.05 for _ in range(2) for s in ((256, 1024), (1024, 256))]
CASES = {
    "pointwise chain, 16 MiB": (chain, [torch.randn(2048, 2048)]),
    "pointwise chain, 64 KiB": (chain, [torch.randn(16, 1024)]),
    "softmax, 16 MiB": (softmax, [torch.randn(2048, 2048)]),
    "2 feed-forward blocks, 256 rows": (feed_forward, [torch.randn(256, 256), *WEIGHTS]),
}
SYSTEMS = {
    "eager": lambda fn, inputs: lambda: fn(*inputs),
    "TorchScript": systems.torchscript,
    "torch.compile": systems.compiled,
    "JAX/XLA": lambda fn, inputs: of_jax(fn.__name__, inputs),
    "ONNX Runtime": systems.onnx_runtime,
    "OpenVINO": systems.open_vino,
    "TVM, not tuned": systems.untuned_tvm,
}


def stretch(call, number):
    """Processor seconds of one call over a stretch of them, the last one waited for."""
    start = time.process_time()
    for _ in range(number):
        result = call()
    waited(result)
    return (time.process_time() - start) / number


rows = []
for title, (fn, inputs) in CASES.items():
    torch._dynamo.reset()
    exact = fn(*(x.double() for x in inputs))
    calls = {system: make(fn, inputs) for system, make in SYSTEMS.items()}
    errors = {}
    for system, call in calls.items():
        for _ in range(3):
            result = waited(call())
        errors[system] = ((result - exact).norm() / exact.norm()).item()
    numbers = {s: max(1, round(0.01 / stretch(call, 2))) for s, call in calls.items()}
    rounds = [{s: stretch(call, numbers[s]) for s, call in calls.items()} for _ in range(25)]
    times = {s: 1e6 * min(turn[s] for turn in rounds) for s in calls}
    rows += [(title, s, us, times["eager"] / us, errors[s]) for s, us in times.items()]

columns = {"function": "", "system": "", "a call": "µs .0f", "gain": "× .2f", "error": " .1e"}
tclab.show(table("Systems on one core of a CPU", columns, rows, name="systems"))
gain = {row[:2]: row[3] for row in rows}
leaders = {title: max(SYSTEMS, key=lambda s: gain[title, s]) for title in CASES}
pivot = [(title, *(gain[title, s] for s in SYSTEMS)) for title in CASES]
columns = {"function": "", **dict.fromkeys(SYSTEMS, "× .2f")}
tclab.show(table("As fast as eager, on one core", columns, pivot, name="gains"))

# claim: every-result-is-right
assert max(row[4] for row in rows) < 1e-4, rows
# claim: the-chain-is-fused-by-torch-compile
assert gain["pointwise chain, 16 MiB", "torch.compile"] > 1.5, gain
others = [s for s in SYSTEMS if s != "torch.compile"]
# claim: another-leads-torch-compile-in-each
assert all(max(gain[t, s] for s in others) > 1.1 * gain[t, "torch.compile"] for t in CASES), gain
# claim: no-system-leads-everywhere
assert len(set(leaders.values())) > 1, leaders
# claim: tvm-without-tuning-is-slower-than-eager
assert all(gain[title, "TVM, not tuned"] < 0.9 for title in CASES), gain
