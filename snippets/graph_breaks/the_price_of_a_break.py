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


torch.set_grad_enabled(False)
rows, median = [], {}
for name, size in (("small", 256), ("large", 4_194_304)):
    x = torch.randn(size)
    for fn, graphs in ((one_graph, 1), (two_graphs, 2), (four_graphs, 4), (one_graph, None)):
        compiled = torch.compile(fn, dynamic=False) if graphs else fn
        with tclab.capture() as c:
            torch.testing.assert_close(compiled(x), one_graph(x))
        assert len(c.graphs) == (graphs or 0)
        times = microseconds(compiled, x)
        median[name, graphs] = times[0]
        rows.append((f"{name}, {graphs or 'eager'}", size, graphs, *times))

# claim: more-calls-cost-on-a-small-tensor
assert median["small", 4] > 1.5 * median["small", 1], median
# claim: more-traffic-costs-on-a-large-one
assert median["large", 4] > 1.5 * median["large", 1], median
gap = {name: median[name, 4] - median[name, 1] for name in ("small", "large")}
# claim: traffic-costs-more-than-calls
assert gap["large"] > 5 * gap["small"], gap

columns = ("tensor, graphs", "elements", "graphs", "median", "20 %", "80 %")
tclab.show(tclab.Table("One call", "price", columns, rows, units=("", "", "", "µs", "µs", "µs"),
                       formats=("", ",d", "", ",.1f", ",.1f", ",.1f")))  # fmt: skip
