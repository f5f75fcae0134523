"""A compiled function in PyTorch's profiler, and the lines its kernels were made of.

On a CPU, generated kernels are marked for the profiler where `cpp.enable_kernel_profile` is set.
"""
# tclab: needs=cxx

import torch
from torch.profiler import profile

import tclab

CALLS = 3


def f(x, w):
    y = torch.relu(x @ w + 1)
    z = torch.softmax(y, -1)
    return z.sum(0)


def profiled(options):
    """What the compile made, and events by name: of CALLS warm calls, of the first."""
    torch._dynamo.reset()
    with tclab.capture() as c, profile() as first:
        compiled = torch.compile(f, options=options)
        result = compiled(x, w)
    torch.testing.assert_close(result, f(x, w))
    with profile() as profiler:
        for _ in range(CALLS):
            compiled(x, w)
    return c, *({event.key: event for event in p.key_averages()} for p in (profiler, first))


def event_of(kernel, events):
    """The event of one kernel. A product is called by the name of its operator."""
    name = kernel.kernel_name.replace("extern_kernels.", "aten::")
    return next((event for key, event in events.items() if key.endswith(name)), None)


x, w = torch.randn(256, 256), torch.randn(256, 256)
_, plain, _ = profiled({})
c, marked, first = profiled({"cpp.enable_kernel_profile": True})
lines = {k.kernel_name: [line.code for line in k.source_lines] for k in c.kernels}
events = {kernel.kernel_name: event_of(kernel, marked) for kernel in c.kernels}

tclab.show(
    tclab.Table(
        title="Kernels, by the profiler and by line",
        name="kernels",
        columns=("kernel", "event of the profiler", "calls", "time of its own", "from"),
        units=("", "", "", "µs", ""),
        formats=("", "", "d", ".0f", ""),
        rows=[
            (name, event.key, event.count, event.self_cpu_time_total, "; ".join(lines[name]))
            for name, event in events.items()
        ],
    )
)
every = "\n".join(f"{event.count} × {event.key}" for event in marked.values())
tclab.show(every, title="All events", name="all")
generated = [kernel.kernel_name for kernel in c.kernels if kernel.category != "extern"]

# claim: a-compiled-region-is-an-event
assert sum(e.count for key, e in marked.items() if "Torch-Compiled Region" in key) == CALLS
assert "Torch-Compiled Region: 0/0" in marked
# claim: so-is-the-look-at-the-guards
assert sum(e.count for key, e in marked.items() if "Cache Lookup" in key) == CALLS
compiling = {key for key in first if key.endswith("(dynamo_timed)")}
# claim: the-first-call-is-the-compiler
assert len(compiling) > 5 and not compiling & marked.keys()
# claim: a-library-call-has-its-operator
assert plain["aten::mm"].count == CALLS
# claim: a-generated-kernel-is-not-seen
assert generated and not any("cpp_fused" in key for key in plain)
# claim: marked-it-is
assert all(event.count == CALLS for event in events.values())
# claim: and-leads-to-its-lines
assert lines["extern_kernels.mm"] == ["y = torch.relu(x @ w + 1)"] and len(lines[generated[0]]) == 3
