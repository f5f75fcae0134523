"""Thirty-two small results that share nothing: one by one, as combo kernels, and in a CUDA graph.

The profiler says how many kernels ran, on how many streams, and whether two ran at once. A stretch
of calls is timed by the host's clock and ends with a wait, so that launching counts.
"""
# tclab: needs=cuda,triton alone=true timeout=240

import itertools
import statistics
import time

import torch
from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity, profile

import tclab


def separate(*xs):
    return [torch.tanh(x) * 0.5 + i for i, x in enumerate(xs)]


def watched(call):
    """(stream, begin, end) of each kernel of a call, in the order of their beginnings."""
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as seen:
        call()
        torch.cuda.synchronize()
    events = [e for e in seen.events() if e.device_type == DeviceType.CUDA]
    kernels = [e for e in events if not e.name.startswith(("Mem", "cuda"))]
    spans = [(e.device_resource_id, e.time_range.start, e.time_range.end) for e in kernels]
    return sorted(spans, key=lambda span: span[1])


def in_turns(calls, number=100, rounds=9):
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


torch.set_grad_enabled(False)
torch.manual_seed(0)
xs = [torch.randn(1000 + 64 * i, device="cuda") for i in range(32)]
for x in xs:
    torch._dynamo.mark_static_address(x)
combos = {"combo_kernels": True}
ways = {
    "eager": separate,
    "compiled": torch.compile(separate, dynamic=False),
    "combo_kernels": torch.compile(separate, dynamic=False, options=combos),
    "CUDA graphs": torch.compile(separate, dynamic=False, mode="reduce-overhead"),
}
calls, kernels = {name: lambda way=way: way(*xs) for name, way in ways.items()}, {}
for name, call in calls.items():
    for _ in range(5):
        for got, want in zip(call(), separate(*xs), strict=True):
            torch.testing.assert_close(got, want)
    kernels[name] = watched(call)
times = in_turns(calls)

rows = []
for name, spans in kernels.items():
    overlaps = sum(later[1] < earlier[2] for earlier, later in itertools.pairwise(spans))
    streams = len({stream for stream, *_ in spans})
    rows.append((name, len(spans), streams, overlaps, times[name], times["eager"] / times[name]))
tclab.show(tclab.Table(
    title="Thirty-two results that share nothing", name="calls",
    columns=("way", "kernels", "streams", "began before the last ended", "a call", "gain"),
    units=("", "", "", "", "µs", "×"), formats=("", "d", "d", "d", ".0f", ".2f"), rows=rows,
))  # fmt: skip

count = {name: len(spans) for name, spans in kernels.items()}
# claim: a-kernel-for-each
assert count["compiled"] == 32, count
# claim: on-one-stream-one-after-the-other
assert all(row[2] == 1 for row in rows if row[0] in ("compiled", "combo_kernels")), rows
# claim: combo-kernels-are-fewer-launches
assert count["combo_kernels"] <= 8, count
# claim: and-a-shorter-call
assert times["combo_kernels"] < times["compiled"] / 1.2, times
