"""The first call against later calls, in seconds.

Three modules behind `torch.compile`, called twenty times each, on one thread. The first call
traces, differentiates, lowers, writes code and calls the machine's compiler. The later ones check
guards and run; the fastest of them is shown. The last column: how many of those would take as long
as the first.
"""
# tclab: alone=true timeout=300 needs=cxx

import time

import torch

import tclab


def model(layers):
    torch.manual_seed(0)
    parts = [part for _ in range(layers) for part in (torch.nn.Linear(64, 64), torch.nn.GELU())]
    return torch.nn.Sequential(*parts)


def seconds(fn, x):
    """The time of each of twenty calls."""
    times = []
    for _ in range(20):
        start = time.perf_counter()
        fn(x)
        times.append(time.perf_counter() - start)
    return times


torch.set_num_threads(1)
rows, x = [], torch.randn(32, 64)
for layers in (1, 4, 16):
    eager = model(layers)
    torch._dynamo.reset()
    compiled = torch.compile(eager)
    with torch.no_grad():
        first, *later = seconds(compiled, x)
        torch.testing.assert_close(compiled(x), eager(x), rtol=1e-4, atol=1e-5)
        eager_call = min(seconds(eager, x))
    call = min(later)
    rows.append(
        (f"{layers} layer{'s' * (layers > 1)}", first, call * 1e3, eager_call * 1e3, first / call)
    )

# claim: the-first-call-is-a-hundred-times-slower
assert all(row[4] > 100 for row in rows)
# claim: a-larger-model-compiles-longer
assert rows[2][1] > rows[1][1]  # the very first compile of a process pays for imports, too

columns = ("model", "first call", "a later call", "eager", "first / later")
tclab.show(tclab.Table("First and later calls", "calls", columns, rows,
                       units=("", "s", "ms", "ms", "×"),
                       formats=("", ".2f", ".3f", ".3f", ",.0f")))  # fmt: skip
