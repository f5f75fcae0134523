"""Does compiling pay? Two functions, timed by `tclab explain --measure`.

The calls run in processes of their own, in eager and compiled, which take turns. The times are
those of the machine that built this page, with what else it did meanwhile.
"""
# tclab: alone=true timeout=600

import os
import tempfile
from pathlib import Path

import tclab
from tclab.explain import ExplainRequest, explain_named
from tclab.model import FASTER, SLOWER
from tclab.render.report import words

MINE = """\
import torch


def chain(x, y):
    for _ in range(6):
        x = torch.tanh(x * y + 1) * torch.sigmoid(x)
    return x


def small(x):
    return x + 1
"""

os.chdir(tempfile.mkdtemp())
Path("mine.py").write_text(MINE)


def measure(name, *inputs):
    request = ExplainRequest.parse(
        f"mine.py:{name}", inputs=inputs, options=["dynamic=False"], compare=False, measure=True
    )
    return explain_named(request)


large = measure("chain", "f32[512,2048]", "f32[512,2048]")
little = measure("small", "f32[4]")
for report in (large, little):
    print(f"{report.title}: {words.measurement(report.measurement)}\n")

measured, (mode, *_) = large.measurement, large.measurement.compiled
# claim: a-chain-is-faster
assert measured.verdict(mode) == FASTER and measured.speedups(mode)[1] > 1
ratios = sorted(e / m for e, m in zip(measured.eager.rounds, mode.rounds))
# claim: all-rounds-but-one-agree
assert len(ratios) == 11 and all(ratio > 1 for ratio in ratios[1:])
# claim: and-pays-after-some-calls
assert measured.break_even(mode) > 0 and "it pays after" in words.measurement(measured)
eager, memory = measured.eager.memory, mode.memory
# claim: it-holds-less-memory
assert 0 < memory.peak < eager.peak
hurried = ExplainRequest.parse("mine.py:small", inputs=["f32[4]"], measure_seconds=0.5)
# claim: seconds-bound-it
assert not tclab.explain.measure.measure(hurried, lambda _: None).compiled
rows = [row for report in (large, little) for row in report.kernels]
# claim: each-kernel-has-its-time
assert len(rows) >= 2 and all(row.seconds > 0 for row in rows)
# claim: one-small-addition-is-slower
assert little.measurement.verdict(little.measurement.compiled[0]) == SLOWER
# claim: which-is-a-finding
assert "slower-than-eager" in {finding.name for finding in little.findings}

tclab.show(tclab.Table(
    title="Seconds of a call, and of the first", name="times",
    columns=("function", "mode", "median", "fastest", "slowest", "first call"),
    units=("", "", *["µs"] * 3, "s"), formats=("", "", *[",.1f"] * 3, ".2f"),
    rows=[(report.title, times.mode,
           *(1e6 * each for each in (times.median, min(times.rounds), max(times.rounds))),
           times.first)
          for report in (large, little) for times in report.measurement.modes],
))  # fmt: skip
