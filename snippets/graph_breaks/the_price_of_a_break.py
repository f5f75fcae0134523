"""What a break costs.

The same eight steps in one graph, in two and in four. Each break ends a fused loop, so an
intermediate result goes through memory; and each piece has its own guards and its own call. The
small tensor shows the cost of the calls, the large one the cost of the memory.
Every result is compared with eager before anything is timed.
"""
# tclab: alone=true timeout=300

import statistics
import time

import torch

import tclab


def two_steps(x):
    x = torch.relu(x * 0.9 + 0.1)
    return torch.relu(x * 0.9 - 0.1)


def one_graph(x):
    return two_steps(two_steps(two_steps(two_steps(x))))


def two_graphs(x):
    x = two_steps(two_steps(x))
    torch._dynamo.graph_break()
    return two_steps(two_steps(x))


def four_graphs(x):
    x = two_steps(x)
    torch._dynamo.graph_break()
    x = two_steps(x)
    torch._dynamo.graph_break()
    x = two_steps(x)
    torch._dynamo.graph_break()
    return two_steps(x)


def microseconds(fn, x, repeats=60):
    """Median, 20th and 80th percentile of one call."""
    for _ in range(5):
        fn(x)
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        fn(x)
        times.append((time.perf_counter() - start) * 1e6)
    cut = statistics.quantiles(times, n=5)
    return statistics.median(times), cut[0], cut[3]


torch.manual_seed(0)
rows = []
for size in (256, 4_194_304):
    x = torch.randn(size)
    for fn, graphs in ((one_graph, 1), (two_graphs, 2), (four_graphs, 4)):
        with torch.no_grad(), tclab.capture() as c:
            compiled = torch.compile(fn, dynamic=False)
            torch.testing.assert_close(compiled(x), one_graph(x))
        assert len(c.graphs) == graphs and len(c.breaks) == graphs - 1
        with torch.no_grad():
            rows.append((size, graphs, graphs - 1, *microseconds(compiled, x)))
    with torch.no_grad():
        rows.append((size, None, None, *microseconds(one_graph, x)))

tclab.show(
    tclab.Table(
        title="One call",
        columns=("elements", "graphs", "breaks", "median", "20 %", "80 %"),
        units=("", "", "", "µs", "µs", "µs"),
        formats=(",d", "", "", ".1f", ".1f", ".1f"),
        rows=rows,
        caption="The rows without a number of graphs are eager PyTorch.",
    ),
    name="price",
)
