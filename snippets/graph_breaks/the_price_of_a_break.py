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


def microseconds(fns, x, rounds):
    """Of one call of each function, called in turns: the fastest, the median, the 80th percentile.

    What else the machine does only makes a call slower, so the fastest says what the code needs.
    """
    times = [[] for _ in fns]
    for _ in range(rounds):
        for fn, kept in zip(fns, times):
            start = time.perf_counter()
            fn(x)
            kept.append((time.perf_counter() - start) * 1e6)
    return [(min(kept), statistics.median(kept), statistics.quantiles(kept, n=5)[3])
            for kept in times]  # fmt: skip


def steady_microseconds(fns, x, rounds):
    """The same, tried up to four times until each median is near the fastest; a median that is not
    would show what else the machine does, so it is left out.
    """
    for _ in range(4):
        times = microseconds(fns, x, rounds)
        if all(median < 1.5 * fastest for fastest, median, _ in times):
            break
    return [(f, m, p80) if m < 1.5 * f else (f, None, None) for f, m, p80 in times]


torch.set_grad_enabled(False)
rows, fastest = [], {}
ways = {1: one_graph, 2: two_graphs, 4: four_graphs, None: one_graph}
for name, size, rounds in (("small", 256, 400), ("large", 4_194_304, 20)):
    x, fns = torch.randn(size), []
    for graphs, fn in ways.items():
        fns.append(torch.compile(fn, dynamic=False) if graphs else fn)
        with tclab.capture() as c:
            torch.testing.assert_close(fns[-1](x), one_graph(x))
        assert len(c.graphs) == (graphs or 0)
    for graphs, times in zip(ways, steady_microseconds(fns, x, rounds)):
        fastest[name, graphs] = times[0]
        rows.append((f"{name}, {graphs or 'eager'}", size, graphs, *times))

# claim: more-calls-cost-on-a-small-tensor
assert fastest["small", 4] > 1.5 * fastest["small", 1], fastest
# claim: more-traffic-costs-on-a-large-one
assert fastest["large", 4] > 1.5 * fastest["large", 1], fastest
gap = {name: fastest[name, 4] - fastest[name, 1] for name in ("small", "large")}
# claim: traffic-costs-more-than-calls
assert gap["large"] > 5 * gap["small"], gap

unsteady = any(row[4] is None for row in rows)
columns = ("tensor, graphs", "elements", "graphs", "fastest", "median", "80 %")
tclab.show(tclab.Table("One call", "price", columns, rows,
                       caption="a dash: too unsteady here to say" * unsteady,
                       units=("", "", "", "µs", "µs", "µs"),
                       formats=("", ",d", "", ",.1f", ",.1f", ",.1f")))  # fmt: skip
