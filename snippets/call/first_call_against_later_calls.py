"""The first call against later calls, in seconds.

Four modules behind `torch.compile`, called twenty times each, on one thread. The
first call traces, lowers, writes code and calls the machine's compiler. The first compile of a
process pays for imports and for what the machine is asked, too, so a layer of its own went before.
Each model has another width, so that none finds the kernels of another. Later calls check guards
and run; the fastest of them is shown. The last column: how many of those would take as long as the
first.
"""
# tclab: alone=true timeout=300 needs=cxx

import time

import torch

import tclab


def model(layers, width):
    torch.manual_seed(0)
    pairs = [(torch.nn.Linear(width, width), torch.nn.GELU()) for _ in range(layers)]
    return torch.nn.Sequential(*(part for pair in pairs for part in pair))


def seconds(fn, x):
    """The time of each of twenty calls."""
    times = []
    for _ in range(20):
        start = time.perf_counter()
        fn(x)
        times.append(time.perf_counter() - start)
    return times


torch.set_num_threads(1)
rows = []
SIZES = {"1 layer, the first": (1, 48), "1 layer": (1, 64)}
SIZES |= {"4 layers": (4, 80), "16 layers": (16, 96)}
for name, (layers, width) in SIZES.items():
    eager, x = model(layers, width), torch.randn(32, width)
    torch._dynamo.reset()
    compiled = torch.compile(eager)
    with torch.no_grad():
        first, *later = seconds(compiled, x)
        torch.testing.assert_close(compiled(x), eager(x), rtol=1e-4, atol=1e-5)
        eager_call = min(seconds(eager, x))
    call = min(later)
    rows.append((name, first, call * 1e3, eager_call * 1e3, first / call))

first_of_all, one, four, sixteen = [row[1] for row in rows]
# claim: the-first-call-is-a-hundred-times-slower
assert all(row[4] > 100 for row in rows)
# claim: a-larger-model-compiles-longer
assert sixteen > four
# claim: the-first-of-a-process-pays-for-more
assert first_of_all > one

columns = ("model", "first call", "a later call", "eager", "first / later")
tclab.show(tclab.Table("First and later calls", "calls", columns, rows,
                       units=("", "s", "ms", "ms", "×"),
                       formats=("", ".2f", ".3f", ".3f", ",.0f")))  # fmt: skip
