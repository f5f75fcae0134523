"""Seconds of a compile by phase: one operation and a model, cold and with warm caches.

The model is two equal blocks, without gradients. Cold is a process of its own over an empty folder;
warm is another process over the same folder. One compile thread. PyTorch's precompiled header is
off.
"""
# tclab: needs=cxx alone=true timeout=300

import tempfile
import time

import torch
import torch.nn.functional as F
from _process import caches_on, in_a_process
from torch import nn
from torch._inductor.cpu_vec_isa import VecISA

import tclab

PHASES = {  # how the names of what is measured begin, and what is done there
    "Dynamo": (("Dynamo",), "runs the bytecode symbolically, builds guards"),
    "AOTAutograd": (("AOTAutograd",), "traces the graph down to ATen"),
    "graph passes": (
        ("Inductor: pre-grad", "Inductor: joint-graph", "Inductor: post-grad"),
        "patterns in a graph are replaced; a new process sets them up first",
    ),
    "lowering": (("Inductor: lowering",), "operations become loops"),
    "scheduling": (("Inductor: scheduling",), "which loops are one kernel"),
    "code generation": (("Inductor: code",), "the text of kernels and wrapper"),
    "C++ compiler": (("C++",), "kernels, and probes for what this CPU can"),
    "loading probes": (("Trying",), "a Python for each loads it, to see whether this CPU runs it"),
    "hashing sources": (("Hashing",), "PyTorch's and Triton's, once a process"),
    "the rest": ((), "such as looking graphs up, loading what was found"),
}


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(64)
        self.up, self.down = nn.Linear(64, 256), nn.Linear(256, 64)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


class Blocks(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = Block(), Block()

    def forward(self, x):
        return self.second(self.first(x))


def operation(x):
    return x + 1


def compiled(model):
    """Times by phase; the first call by the clock; calls of each kernel; distance from eager."""
    torch.manual_seed(0)
    fn, x = Blocks() if model else operation, torch.randn(32, 64)
    with torch.no_grad(), tclab.capture() as c:
        caches_on()
        torch._inductor.config.compile_threads = 1
        start = time.perf_counter()
        result = torch.compile(fn)(x)
        seconds = time.perf_counter() - start
        off = (result - fn(x)).abs().max().item()
    names = {kernel.kernel_name for unit in c.units for kernel in unit.kernels}
    code = "".join(unit.wrapper.code for unit in c.units if unit.wrapper)
    calls = {name: code.count(f"{name}(") for name in names if name.startswith("cpp")}
    return c.times.rows, seconds, calls, off


def by_phase(rows):
    """The seconds of each of PHASES."""
    whole = dict.fromkeys(PHASES, 0.0)
    for name, _, seconds in rows[:-1]:
        own = (phase for phase, (starts, _) in PHASES.items() if name.startswith(starts))
        whole[next(own, "the rest")] += seconds
    return whole


with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
    starts = {
        f"{what}, {start}": in_a_process(compiled, folder, what == "model")
        for what, folder in (("operation", first), ("model", second))
        for start in ("cold", "warm")
    }
seconds = {start: by_phase(times) for start, (times, *_) in starts.items()}
totals = {start: sum(phases.values()) for start, phases in seconds.items()}
clock = {start: by_clock for start, (_, by_clock, *_) in starts.items()}
calls = {start: by_kernel for start, (*_, by_kernel, _) in starts.items()}
runs, probes = (
    {
        start: sum(number for name, number, _ in times if name.startswith(begins))
        for start, (times, *_) in starts.items()
    }
    for begins in ("C++", "Trying")
)
lines = [(phase, *(s[phase] for s in seconds.values())) for phase in PHASES]
lines += [("total", *totals.values()), ("first call", *clock.values())]
tclab.show(
    tclab.Table(
        title="Seconds by phase",
        name="phases",
        columns=("phase", *starts),
        units=("", "s", "s", "s", "s"),
        formats=("", ".2f", ".2f", ".2f", ".2f"),
        rows=lines,
    )
)
tclab.show(
    tclab.Table(
        title="What is done",
        name="done",
        columns=("phase", "what is done"),
        rows=[(phase, what) for phase, (_, what) in PHASES.items()],
    )
)
length = tuple(seconds["model, cold"].values())
series = {"begin": [sum(length[:place]) for place in range(len(length))], "length": length}
axes = {"x": PHASES, "series": series, "y_label": "seconds", "style": "span", "name": "spans"}
axes["caption"] = "Each phase without those that lie within it, laid end to end."
tclab.show(tclab.Chart("The model, cold", **axes))
lines = [(start, len(by), sum(by.values()), runs[start]) for start, by in calls.items()]
tclab.show(
    tclab.Table(
        title="What the C++ compiler ran for",
        name="runs",
        columns=("cold", "C++ kernels", "calls of them", "runs of the compiler"),
        rows=[line for line in lines if line[0].endswith("cold")],
    )
)
cold, warm = seconds["model, cold"], seconds["model, warm"]
one, model = calls["operation, cold"], calls["model, cold"]
INDUCTOR = ("graph passes", "lowering", "scheduling", "code generation")

# claim: the-phases-are-nearly-all
assert all(totals[start] > 0.9 * clock[start] for start in starts)
# claim: the-compiler-takes-more-than-all-else, torch >= 2.13
assert cold["C++ compiler"] > 0.5 * totals["model, cold"]
# claim: it-runs-for-more-than-kernels
assert len(one) == 1 < runs["operation, cold"]
# claim: one-operation-pays-a-fifth
assert totals["operation, cold"] > 0.2 * totals["model, cold"]
further = runs["model, cold"] - runs["operation, cold"]
# claim: equal-kernels-are-compiled-once
assert further == len(model) - len(one) and len(model) < sum(model.values())
# claim: both-blocks-call-one-gelu
assert [number for name, number in model.items() if "gelu" in name] == [2]
# claim: warm-leaves-the-compiler-out
assert runs["model, warm"] == runs["operation, warm"] == 0
# claim: and-nearly-all-of-inductor
assert all(0 <= warm[phase] < 0.1 * cold[phase] for phase in INDUCTOR)
# claim: dynamo-traces-all-the-same
assert cold["Dynamo"] > 0 and warm["Dynamo"] > 0
probe_share = warm["loading probes"] / totals["model, warm"]
# claim: each-process-loads-the-probes
assert 0 < probes["model, cold"] == probes["model, warm"] == probes["operation, warm"]
# claim: and-imports-pytorch-for-each, torch < 2.13
assert "import torch" in VecISA._avx_py_load and probe_share > 0.5
# claim: warm-takes-less-than-half, torch >= 2.13
assert totals["model, warm"] < 0.5 * totals["model, cold"]
# claim: half-of-a-warm-start-is-for-one-operation-too
assert totals["operation, warm"] > 0.5 * totals["model, warm"]
# claim: all-are-right
assert max(off for *_, off in starts.values()) < 1e-4
