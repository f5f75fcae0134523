"""One call on the CPU's and on the GPU's clock: launched one by one, and replayed as a CUDA graph.

The profiler says when each launch began and ended on the CPU, and each kernel on the GPU.
"""
# tclab: needs=cuda,triton

import json
import tempfile
from pathlib import Path

import torch
from _launches import LAUNCHES
from torch.profiler import ProfilerActivity, profile, record_function

import tclab


def chain(x, w):
    for _ in range(8):
        x = torch.relu(x @ w)
    return x.sum(dim=-1)


def timeline(call):
    """Spans of one call, (begin, length) in µs from its first launch: launches, then kernels."""
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as seen:
        for name in ("first", "second", "measured"):  # a profiler's first launches take longer
            torch.cuda.synchronize()
            with record_function(name):
                call()
        torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        seen.export_chrome_trace(str(path))
        events = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
    since = next(e["ts"] for e in events if e.get("name") == "measured")
    events = [e for e in events if e.get("ts", 0) >= since]
    launched = [e for e in events if e.get("name") in (*LAUNCHES, "cudaGraphLaunch")]
    kernels = [e for e in events if e.get("cat") == "kernel"]
    start = min(e["ts"] for e in launched)
    return [sorted((e["ts"] - start, e["dur"]) for e in part) for part in (launched, kernels)]


def busy(spans):
    """The share of the time, from the first kernel's beginning to the last one's end, with one."""
    return sum(length for _, length in spans) / (max(map(sum, spans)) - spans[0][0])


torch.manual_seed(0)
x, w = torch.randn(64, 512, device="cuda"), torch.randn(512, 512, device="cuda") * 0.05
plain, recorded = torch.compile(chain), torch.compile(chain, mode="reduce-overhead")
for _ in range(5):
    plain(x, w), recorded(x, w)
one_by_one, replayed = (timeline(lambda: compiled(x, w)) for compiled in (plain, recorded))
lanes = {
    "one by one: CPU": one_by_one[0], "one by one: GPU": one_by_one[1],
    "as a graph: CPU": replayed[0], "as a graph: GPU": replayed[1],
}  # fmt: skip
spans = [(label, *span) for label, lane in lanes.items() for span in lane]
tclab.show(tclab.Chart(
    title="One call: what the CPU launches, and when the GPU has work", name="timeline",
    style="lanes", x=[label for label, _, _ in spans], y_label="µs since the first launch began",
    series={"begins": [round(begin, 2) for _, begin, _ in spans],
            "takes": [round(length, 2) for _, _, length in spans]},
    caption="One call each, with the profiler on, which makes every launch longer.",
))  # fmt: skip

# claim: the-gpu-waits-for-launches
assert busy(one_by_one[1]) < 0.5, one_by_one
# claim: a-graph-is-one-launch
assert len(one_by_one[0]) > 8 and len(replayed[0]) < len(one_by_one[0]) / 3, (one_by_one, replayed)
# claim: in-a-replay-it-works-most-of-the-time
assert busy(replayed[1]) > 0.5, (one_by_one, replayed)
# claim: the-replay-ends-sooner
assert max(map(sum, replayed[1])) < max(map(sum, one_by_one[1])), (one_by_one, replayed)
