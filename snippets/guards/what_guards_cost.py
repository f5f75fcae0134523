"""What guards cost, measured.

The same block, stacked deeper and deeper. Each layer brings parameters, and each
parameter brings checks. The table times the check of one cache entry by itself, and a
whole compiled call around it. (The backend is `eager`, so the call runs the graph's operations
one by one.) Before anything is timed, the result is compared with eager.
"""
# tclab: alone=true

import statistics
import time

import torch
from torch._dynamo.eval_frame import _debug_get_cache_entry_list

import tclab


class Stack(torch.nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.layers = torch.nn.Sequential()
        for _ in range(depth):
            self.layers.extend([torch.nn.Linear(8, 8), torch.nn.LayerNorm(8)])

    def forward(self, x):
        return self.layers(x)


def microseconds(*fns, rounds=400):
    """Of one call of each function, called in turns: the fastest, the median, the 80th percentile.

    What else the machine does only makes a call slower, so the fastest says what the code needs.
    """
    times = [[] for _ in fns]
    for _ in range(rounds):
        for fn, kept in zip(fns, times):
            start = time.perf_counter()
            fn()
            kept.append((time.perf_counter() - start) * 1e6)
    return [(min(kept), statistics.median(kept), statistics.quantiles(kept, n=5)[3])
            for kept in times]  # fmt: skip


torch.manual_seed(0)
torch.set_grad_enabled(False)
rows, x = [], torch.randn(1, 8)
for depth in (1, 8, 32):
    torch._dynamo.reset()
    model = Stack(depth)
    with tclab.capture() as c:
        compiled = torch.compile(model, backend="eager")
        torch.testing.assert_close(compiled(x), model(x))
    (entry,) = _debug_get_cache_entry_list(Stack.forward.__code__)
    frame = {"self": model, "x": x}  # what the guards look at: the local variables
    assert entry.guard_manager.check(frame)
    check, call = microseconds(lambda: entry.guard_manager.check(frame), lambda: compiled(x))
    rows.append((depth, len(c.guards[0]), *check, *call))

shallow, _, deep = rows
# claim: guards-grow-with-what-is-read
assert deep[1] > 5 * shallow[1]
# claim: and-so-does-their-check
assert deep[2] > shallow[2]
# claim: by-more-than-three-times, torch >= 2.13
assert deep[2] > 3 * shallow[2]
# claim: a-small-part-of-the-call
assert all(row[2] < row[5] / 2 for row in rows)
tclab.show(
    tclab.Table(
        title="The check, and the call around it",
        columns=("layers", "guards", "check", "median", "80 %", "call", "median", "80 %"),
        units=("", "", *("µs",) * 6),
        formats=("", "", *(".1f",) * 6),
        rows=rows,
    ),
    name="cost",
)
