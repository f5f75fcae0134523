"""The same functions on the same GPU by several systems: eager, TorchScript, torch.compile, JAX.

All work on the same memory in bfloat16. A stretch of calls is timed by the host's clock and ends
with a wait, since each system has streams of its own; they take turns, and the median of the rounds
counts. Each result is compared with float64 first. A system that is not here keeps its row.
"""
# tclab: needs=cuda,triton alone=true timeout=240 memory=32768

import warnings

import torch
from _systems import (
    ELSEWHERE,
    chain,
    feed_forward,
    in_turns,
    of_jax,
    onnx_runtime,
    softmax,
    waited,
    why_not,
)
from _tables import table
from _timing import error

import tclab

warnings.simplefilter("ignore")
torch.set_grad_enabled(False)
torch.manual_seed(0)


def random(*shape, scale=1.0):
    return scale * torch.randn(shape, device="cuda", dtype=torch.bfloat16)


WEIGHTS = [random(*s, scale=0.02) for _ in range(8) for s in ((1024, 4096), (4096, 1024))]
CASES = {
    "pointwise chain, 256 MiB": (chain, [random(16384, 8192)]),
    "pointwise chain, 128 KiB": (chain, [random(64, 1024)]),
    "softmax, 256 MiB": (softmax, [random(16384, 8192)]),
    "8 feed-forward blocks, 8 rows": (feed_forward, [random(8, 1024), *WEIGHTS]),
    "8 feed-forward blocks, 4096 rows": (feed_forward, [random(4096, 1024), *WEIGHTS]),
}
SYSTEMS = ("eager", "TorchScript", "torch.compile", "torch.compile, CUDA graphs", "JAX/XLA")


def calls(fn, inputs):
    """A call without arguments by system. Inputs stay where they are, so no graph copies them."""
    for x in inputs:
        torch._dynamo.mark_static_address(x)
    traced = torch.jit.trace(fn, tuple(inputs))
    compiled = torch.compile(fn, dynamic=False)
    graphs = torch.compile(fn, dynamic=False, mode="reduce-overhead")
    own = [lambda fn=fn: fn(*inputs) for fn in (fn, traced, compiled, graphs)]
    return dict(zip(SYSTEMS, [*own, of_jax(fn.__name__, inputs)]))


rows = []
for title, (fn, inputs) in CASES.items():
    torch._dynamo.reset()
    exact = fn(*(x.double() for x in inputs))
    by_system = calls(fn, inputs)
    errors = [error(waited(call()).clone(), exact) for call in by_system.values()]
    del exact
    times = in_turns(by_system)
    rows += [(title, s, us, times["eager"] / us, e) for (s, us), e in zip(times.items(), errors)]

columns = {"function": "", "system": "", "a call": "µs .0f", "gain": "× .2f", "error": " .1e"}
tclab.show(table("Systems side by side", columns, rows, name="systems"))
missing = [("ONNX Runtime", onnx_runtime(), "pip install onnxruntime-gpu")]
missing += [(system, why_not(package), how) for system, (package, how) in ELSEWHERE.items()]
columns = {"system": "", "why": "", "elsewhere": ""}
tclab.show(table("Not measured here", columns, missing, name="missing"))

gain = {row[:2]: row[3] for row in rows}
# claim: every-result-is-right
assert max(row[4] for row in rows) < 0.03
# claim: both-compilers-fuse-the-chain
assert all(gain["pointwise chain, 256 MiB", s] > 2 for s in ("torch.compile", "JAX/XLA"))
few = "8 feed-forward blocks, 8 rows"
# claim: cuda-graphs-lead-at-eight-rows
assert gain[few, "torch.compile, CUDA graphs"] > gain[few, "torch.compile"]
