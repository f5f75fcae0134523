"""What guards cost, measured.

The same tiny sum over more and more parameters. Compiled with the `eager` backend, the
compiled call runs the same operations as plain Python. What it adds is
finding the cache entry and checking its guards. `skip_guard_eval_unsafe` runs the same compiled
code without most of the checks. It is what the name says: only for calls that cannot differ.
"""

import statistics
import time

import torch

import tclab


class Bag(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.items = torch.nn.ParameterList(torch.ones(1) for _ in range(size))

    def forward(self, x):
        for item in self.items:
            x = x + item
        return x


def microseconds(fn, x, repeats=200):
    """Median, 20th and 80th percentile of one call."""
    for _ in range(20):
        fn(x)
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        fn(x)
        times.append((time.perf_counter() - start) * 1e6)
    cut = statistics.quantiles(times, n=5)
    return statistics.median(times), cut[0], cut[3]


rows, x = [], torch.ones(1)
for size in (1, 10, 100):
    bag = Bag(size)
    with torch.no_grad(), tclab.capture() as c:
        compiled = torch.compile(bag, backend="eager")
        torch.testing.assert_close(compiled(x), bag(x))
    with torch.no_grad():
        checked = microseconds(compiled, x)
        with torch.compiler.set_stance("default", skip_guard_eval_unsafe=True):
            unchecked = microseconds(compiled, x)
    rows.append((size, len(c.guards[0]), *checked, *unchecked))

assert rows[0][1] < rows[1][1] < rows[2][1]  # guards grow with what the code reads
tclab.show(
    tclab.Table(
        title="One call, with and without its checks",
        columns=("parameters", "guards", "checked", "20 %", "80 %", "unchecked", "20 %", "80 %"),
        units=("", "", *("µs",) * 6),
        formats=("", "", *(".1f",) * 6),
        rows=rows,
    ),
    name="cost",
)
