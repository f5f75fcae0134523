"""Autotuning: which launch configurations were tried, and which won.

A kernel's text leaves block sizes and the number of warps open. Inductor's heuristics propose a
few; where there is more than one, each is compiled and timed at the first call. `max_autotune`
proposes more for some kernels; the first row against the second says whether it did for this
one. Coordinate descent walks from the winner to its neighbours while that helps.
"""
# tclab: needs=cuda alone=true timeout=240 memory=32768

import logging
import math

import torch
from _launches import relative_error
from torch._inductor.utils import fresh_cache

import tclab

LOGGER = logging.getLogger("torch._inductor.runtime.triton_heuristics")


class Timings(logging.Handler):
    """Keeps what autotuning logs about each candidate: configuration, ms, registers, spills."""

    def __init__(self):
        super().__init__(logging.DEBUG)
        self.rows = []

    def emit(self, record):
        # Inductor also logs objects, so the message need not be text.
        if str(record.msg).startswith(("%s: %f, nreg", "COORDESC: %s: %f, nreg")):
            self.rows.append(record.args)


def column_sums(x):
    return (torch.sigmoid(x) * x).sum(0)  # down the columns: an outer reduction


def short(config):
    """Block sizes, warps and pipeline stages of a Triton configuration."""
    blocks = ", ".join(f"{name} {size}" for name, size in config.kwargs.items())
    return f"{blocks}, {config.num_warps} warps, {config.num_stages} stages"


x = torch.randn(2048, 65536, device="cuda")
ways = {
    "default": {},
    "max_autotune": {"max_autotune": True},
    "coordinate descent": {"max_autotune": True, "coordinate_descent_tuning": True},
}
LOGGER.setLevel(logging.DEBUG)
LOGGER.propagate = False
tables, summary = {}, []
for way, options in ways.items():
    LOGGER.addHandler(seen := Timings())
    with fresh_cache():
        torch.compiler.reset()
        result = torch.compile(column_sums, options=options, dynamic=False)(x)
    LOGGER.removeHandler(seen)
    assert relative_error(result, column_sums(x.double())) < 1e-5
    timed = [row for row in seen.rows if math.isfinite(row[1])]  # inf: not timed, it spills
    tables[way] = [(short(config), ms * 1e3, *rest) for config, ms, *rest in timed]
    times = [row[1] for row in tables[way]]
    summary.append((way, len(times), min(times, default=None), max(times, default=None)))

assert summary[1][1] >= summary[0][1], "max_autotune tried fewer than the default"
assert summary[2][1] >= summary[1][1]
tclab.show(tclab.Table(
    title="How many configurations each way times", rows=summary,
    columns=("options", "timed", "fastest", "slowest"), units=("", "", "µs", "µs"),
    formats=("", "", ".1f", ".1f")), name="summary")  # fmt: skip
for way, rows in tables.items():
    if rows:
        tclab.show(tclab.Table(
            title=f"Tried: {way}", rows=sorted(rows, key=lambda row: row[1])[:20],
            columns=("configuration", "time", "registers", "spills", "shared memory"),
            units=("", "µs", "", "", "bytes"), formats=("", ".1f", "", "", ""),
            caption=f"{len(rows)} timings; the fastest {min(20, len(rows))} are shown"),
            name=way.replace(" ", "-").replace("_", "-"))  # fmt: skip
