"""Eager against compiled on this machine's CPU.

Small enough to run wherever this site is built: check against float64, time eager and compiled
in turn, count the calls after which the compile has paid. Inputs rotate through twice the last
cache of this processor; the largest of its caches is asked for. Which of the two is faster is not
asserted: on one machine eager's five loops took 2.5 ms in some rounds and 10 ms in others, where
the fused loop took 2.8 ms. Each case is timed three times; where the three speed-ups are not about
the same, its times are left out.
"""
# tclab: alone=true timeout=900

import statistics

import torch
import torch.nn.functional as F
from _blocks import in_float64, stack
from _tables import break_even, table
from _timing import error, first_call, side_by_side
from torch._inductor.utils import fresh_cache

import tclab
from tclab.workshop.bench.measured.device import last_cache

model = stack(layers=2, dim=256, hidden=1024).eval()
exact_model = in_float64(model)


def chain(x):
    return torch.sigmoid(F.gelu(x + 1.0) * x) - x


def softmax(x):
    return torch.softmax(x * 0.5, dim=-1)


cases = {  # name: function, its float64 reference, shape of the input
    "pointwise chain": (chain, chain, (2048, 1024)),
    "scaled softmax": (softmax, softmax, (2048, 1024)),
    "MLP blocks, batch 1": (model, exact_model, (1, 256)),
    "MLP blocks, batch 256": (model, exact_model, (256, 256)),
}
rows, speed_up = [], []
with torch.no_grad(), fresh_cache():  # so that the first calls really compile
    torch.compile(torch.sin)(torch.rand(8))  # an empty cache also needs a header, once
    for name, (fn, reference, shape) in cases.items():
        each = 4 * shape[0] * shape[1]  # bytes of one input
        number = min(32, max(4, -(-2 * last_cache("cpu") // each)))
        inputs = [(torch.randn(shape),) for _ in range(number)]
        torch.compiler.reset()
        compiled = torch.compile(fn, dynamic=False)
        out, seconds = first_call(compiled, *inputs[0])
        exact = reference(inputs[0][0].double())
        wrong = [error(fn(*inputs[0]), exact), error(out, exact)]
        assert all(w < 1e-5 for w in wrong), (name, wrong)
        times = [side_by_side([fn, compiled], inputs, seconds=0.15) for _ in range(3)]
        ratios = sorted(eager / us for eager, us in times)
        speed_up.append(ratios[1] if ratios[2] < 1.25 * ratios[0] else None)
        if speed_up[-1] is None:
            rows.append((name, wrong[1], None, None, None, seconds, None))
        else:
            eager, us = map(statistics.median, zip(*times))
            calls = break_even(seconds, eager, us)
            rows.append((name, wrong[1], eager, us, eager / us, seconds, calls))

columns = {"case": "", "error": " .1e", "eager": "µs .0f", "compiled": "µs .0f"}
columns |= {"speed-up": "× .2f", "first call": "s .1f", "calls to break even": " ,d"}
machine = f"{torch.get_num_threads()} threads, {torch.backends.cpu.get_cpu_capability()}, float32"
unsteady = "; a dash: too unsteady here to say" * (None in speed_up)
tclab.show(table("Eager and compiled on the CPU", columns, rows, caption=machine + unsteady))
steady = {name: s for name, s in zip(cases, speed_up) if s is not None}
bars = {"x": list(steady), "series": {"compiled": [*steady.values()]}, "style": "bar"}
if steady:
    tclab.show(
        tclab.Chart("Speed-up over eager on the CPU", **bars, y_label="eager / compiled time")
    )
slower = [name for name, s in steady.items() if s < 1]
tclab.show(
    f"Slower when compiled here, of {len(steady)} steady cases: {', '.join(slower) or 'none'}.",
    name="summary",
)
