"""The backend `cudagraphs`: eager's kernels, launched at one request, and nothing fused.

A chain of forty pointwise operations on a small tensor and on a large one. The profiler lists the
kernels that the GPU ran, and counts what was asked of it; a stretch of calls is timed by the host's
clock and ends with a wait, so that launching counts.
"""
# tclab: needs=cuda,triton alone=true

import statistics
import time

import torch
from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity, profile

import tclab


def chain(x):
    for _ in range(10):
        x = torch.tanh(x) * 0.5 + torch.relu(x)  # four operations
    return x


def seen(call):
    """The result of a call, the names of the kernels that ran, the graphs that were launched."""
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as watched:
        result = call()
        torch.cuda.synchronize()
    events = watched.events()
    names = [e.name for e in events if e.device_type == DeviceType.CUDA]
    kernels = [name for name in names if not name.startswith(("Mem", "cuda"))]
    return result, kernels, sum(e.name == "cudaGraphLaunch" for e in events)


def in_turns(calls, number, rounds=9):
    """Median microseconds of one call of each, in stretches that take turns."""
    times = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            torch.cuda.synchronize()
            start = time.perf_counter()
            for _ in range(number):
                call()
            torch.cuda.synchronize()
            times[name].append((time.perf_counter() - start) / number * 1e6)
    return {name: statistics.median(some) for name, some in times.items()}


torch.manual_seed(0)
rows, gain, ran = [], {}, {}
for size, shape, number in (("small", (64, 1024), 200), ("large", (16384, 4096), 5)):
    torch._dynamo.reset()
    x = torch.randn(shape, device="cuda")
    ways = {
        "eager": chain,
        "cudagraphs": torch.compile(chain, backend="cudagraphs", dynamic=False),
        "inductor": torch.compile(chain, dynamic=False),
    }
    calls = {name: lambda way=way: way(x) for name, way in ways.items()}
    for name, call in calls.items():
        for _ in range(4):
            call()
        result, kernels, graphs = ran[size, name] = seen(call)
        exact = torch.equal(result, chain(x)) if name != "inductor" else None
        torch.testing.assert_close(result, chain(x), rtol=1e-4, atol=1e-5)
        rows.append([size, name, len(kernels), graphs, exact])
        ran[size, name] = exact, kernels, graphs
        del result
    times = in_turns(calls, number)
    for row in rows[-3:]:
        gain[size, row[1]] = times["eager"] / times[row[1]]
        row += [times[row[1]], gain[size, row[1]]]

torch._dynamo.reset()
w = torch.randn(64, 1024, device="cuda", requires_grad=True)
trained = torch.compile(chain, backend="cudagraphs", dynamic=False)


def step():
    w.grad = None
    trained(w).backward(torch.ones_like(w))
    return w.grad.clone()


for _ in range(5):
    torch.compiler.cudagraph_mark_step_begin()
    step()
torch.compiler.cudagraph_mark_step_begin()
gradient, _, graphs_of_a_step = seen(step)
w.grad = None
chain(w).backward(torch.ones_like(w))
torch.testing.assert_close(gradient, w.grad, rtol=1e-4, atol=1e-5)

tclab.show(tclab.Table(
    title="One call of forty pointwise operations", name="calls",
    columns=("tensor", "backend", "kernels", "graph launches", "eager's bits", "a call", "gain"),
    units=("", "", "", "", "", "µs", "×"), formats=("", "", "d", "d", "", ".0f", ".2f"), rows=rows,
))  # fmt: skip

# claim: one-launch-for-all
assert all(ran[size, "cudagraphs"][2] == 1 for size in ("small", "large")), rows
# claim: its-kernels-are-eagers
assert set(ran["small", "cudagraphs"][1]) >= set(ran["small", "eager"][1]), ran
assert len(ran["small", "cudagraphs"][1]) >= 40 and len(ran["small", "inductor"][1]) < 5, ran
assert not any("triton" in kernel for kernel in ran["small", "cudagraphs"][1]), ran
# claim: and-so-are-its-bits
assert ran["small", "cudagraphs"][0] and ran["large", "cudagraphs"][0]
# claim: it-gains-where-launching-is-the-time
assert gain["small", "cudagraphs"] > 1.3, gain
# claim: it-gains-nothing-where-memory-is
assert gain["large", "cudagraphs"] < 1.3 and gain["large", "inductor"] > 3, gain
# claim: a-step-is-two-graphs
assert graphs_of_a_step == 2, graphs_of_a_step
