"""Which calls are slow, timed.

Five calls of one function, three times over. The first call compiles. So does the first
call of a second size. In training the first step compiles a forward and a backward, the
backward only when it is first needed. All other calls find what is there.
"""
# tclab: alone=true timeout=300

import time

import torch

import tclab


def f(x, w):
    return torch.relu(x * w).softmax(-1).sum()


def milliseconds(fn, *args):
    """The time of one call, and what it returned."""
    start = time.perf_counter()
    result = fn(*args)
    return (time.perf_counter() - start) * 1e3, result


def train(compiled, x, w):
    """The times of a forward and of its backward."""
    forward, loss = milliseconds(compiled, x, w)
    return forward, milliseconds(loss.backward)[0]


w = torch.randn(64)
weight = torch.randn(64, requires_grad=True)
small, large = torch.randn(32, 64), torch.randn(48, 64)
torch._dynamo.reset()
compiled = torch.compile(f)
timed = [milliseconds(compiled, x, w) for x in (small, small, large, large, small)]
for x, (_, result) in zip((small, small, large), timed):
    torch.testing.assert_close(result, f(x, w))
sizes = [time for time, _ in timed]
torch._dynamo.reset()
compiled = torch.compile(f)
forwards, backwards = zip(*(train(compiled, small, weight) for _ in range(5)))

# claim: the-first-call-is-slow
assert sizes[0] > 5 * sizes[1]
# claim: a-second-size-compiles-again
assert sizes[2] > 5 * max(sizes[3:])
# claim: the-first-backward-compiles
assert forwards[0] > 5 * max(forwards[1:]) and backwards[0] > 5 * max(backwards[1:])

columns = ("what is called", *(f"{n}." for n in range(1, 6)))
rows = [("sizes 32, 32, 48, 48, 32", *sizes),
        ("training: forward", *forwards), ("training: backward", *backwards)]  # fmt: skip
tclab.show(tclab.Table("Time of each call", "calls", columns, rows,
                       units=("", *("ms",) * 5), formats=("", *(",.2f",) * 5)))  # fmt: skip
