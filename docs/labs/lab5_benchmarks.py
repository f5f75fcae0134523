# tclab: needs=cxx timeout=180 alone=true memory=16384

# %% [markdown]
# # Lab 5 · Benchmarks
#
# After this lab you can take a time that you may quote, compare two functions fairly, and say from
# how many calls and from which batch size on compiling pays, or that it does not.

# %%
import math
import statistics
import time

import torch

import tclab

device = "cuda" if torch.cuda.is_available() else "cpu"


def gate(x, bias):
    return torch.nn.functional.gelu(x + bias) * torch.sigmoid(x)


torch.manual_seed(0)
bias = torch.randn(1024, device=device)


def waits(fn, x):
    """A call that returns when the work is done: a GPU goes on after the call."""

    def call():
        fn(x, bias)
        if device == "cuda":
            torch.cuda.synchronize()

    return call


# %% [markdown]
# ## Exercise 1: a time with its spread
#
# Write `measure(call)`: call it often enough, the first calls left out, and return `(median, low,
# high)` in seconds. `low` and `high` show how far the calls differ: quartiles, or the fastest and
# the slowest.
#
# *Predict first:* by how much do the slowest and the fastest call of `gate` differ on your machine?

# %% tags=["exercise"]
def measure(call):
    """(median, low, high): seconds of a warm call."""
    ### BEGIN SOLUTION
    for _ in range(3):
        call()
    seconds = []
    for _ in range(20):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    low, median, high = statistics.quantiles(seconds, n=4)
    return median, low, high
    ### END SOLUTION


# %% tags=["try"]
x = torch.randn(1024, 1024, device=device)
compiled = torch.compile(gate)
start = time.perf_counter()
waits(compiled, x)()
first = time.perf_counter() - start

plain_median, plain_low, plain_high = measure(waits(gate, x))
median, low, high = measure(waits(compiled, x))
ms = [
    (name, *(1e3 * value for value in row))
    for name, row in {
        "plain PyTorch": (plain_low, plain_median, plain_high),
        "compiled": (low, median, high),
    }.items()
]
units, formats = ("", "ms", "ms", "ms"), ("", ".3f", ".3f", ".3f")
columns = ("what", "low", "median", "high")
tclab.show(tclab.Table("A warm call", "calls", columns, tuple(ms), units, formats))
print(f"the first call took {first:.2f} s")
# claim: a-first-call-is-another-thing
assert first > 10 * median

# %% [markdown]
# [The first call is another thing
# altogether](claim:labs/lab5_benchmarks#a-first-call-is-another-thing): it compiles. No later call
# is in one list with it.
#
# ## Exercise 2: correct first, then timed, in turns
#
# Write `speedup(eager, compiled, x)`: how many times as fast the second is. Raise if the results
# differ by more than rounding, before anything is timed. The machine may grow slower or quicker
# while you measure: neither of the two may gain from that.

# %% tags=["exercise"]
def speedup(eager, compiled, x):
    """The time of eager(x) by that of compiled(x); raises where the results differ."""
    ### BEGIN SOLUTION
    torch.testing.assert_close(compiled(x), eager(x), rtol=1e-4, atol=1e-5)
    seconds = {eager: [], compiled: []}
    for _ in range(15):
        for fn, times in seconds.items():
            start = time.perf_counter()
            fn(x)
            times.append(time.perf_counter() - start)
    return statistics.median(seconds[eager]) / statistics.median(seconds[compiled])
    ### END SOLUTION


# %% tags=["try"]
def timed(fn):
    def whole(x):
        result = fn(x, bias)
        if device == "cuda":
            torch.cuda.synchronize()
        return result

    return whole


print(f"speed-up at 1024 rows: {speedup(timed(gate), timed(compiled), x):.2f}")
try:
    speedup(timed(gate), timed(lambda x, bias: gate(x, bias) * 1.05), x)
    refused = False
except AssertionError:
    refused = True
# claim: a-wrong-result-has-no-speed-up
assert refused


calls = [0]


def slower(x):
    """Stands for a machine that grows slower: each call takes longer than the one before."""
    calls[0] += 1
    time.sleep(0.0005 * calls[0])
    return x


def as_slow(x):
    return slower(x)


in_turns = speedup(slower, as_slow, x)
calls[0] = 0
one_after_the_other = measure(lambda: slower(x))[0] / measure(lambda: as_slow(x))[0]
print(f"equally fast, in turns: {in_turns:.2f}, one after the other: {one_after_the_other:.2f}")
# claim: turns-are-fair
assert abs(in_turns - 1) < abs(one_after_the_other - 1)

# %% [markdown]
# [A function that returns something else has no
# speed-up.](claim:labs/lab5_benchmarks#a-wrong-result-has-no-speed-up)
#
# ## Exercise 3: how many calls until it has paid
#
# Write `break_even(compile_seconds, eager, compiled)`: the number of calls after which compiling
# has cost no more than it saved. The last two are seconds of a call. `math.inf` where that never
# comes.

# %% tags=["exercise"]
def break_even(compile_seconds, eager, compiled):
    """The number of calls from which on compiling has paid."""
    ### BEGIN SOLUTION
    saved = eager - compiled
    return math.ceil(compile_seconds / saved) if saved > 0 else math.inf
    ### END SOLUTION


# %% tags=["try"]
print("calls until it has paid, here:", break_even(first, plain_median, median))

# %% [markdown]
# ## Exercise 4: from which batch size on
#
# Write `pays_from(sweep)`. `sweep` maps a batch size to `(eager, compiled)` seconds. Return the
# smallest size from which on the compiled function is faster at every size measured; `None` if
# there is none.
#
# *Predict first:* a call of a compiled function checks guards before it computes. What does that
# mean for a batch of one row?

# %% tags=["exercise"]
def pays_from(sweep):
    """The smallest size from which on compiled is always faster; None if there is none."""
    ### BEGIN SOLUTION
    answer = None
    for size in sorted(sweep, reverse=True):
        eager, compiled = sweep[size]
        if compiled >= eager:
            break
        answer = size
    return answer
    ### END SOLUTION


# %% tags=["try"]
dynamic = torch.compile(gate, dynamic=True)
sweep = {}
for size in (2, 16, 128, 1024, 4096):
    batch = torch.randn(size, 1024, device=device)
    torch.testing.assert_close(dynamic(batch, bias), gate(batch, bias), rtol=1e-4, atol=1e-5)
    sweep[size] = measure(waits(gate, batch))[0], measure(waits(dynamic, batch))[0]
rows = tuple((size, 1e3 * a, 1e3 * b, a / b) for size, (a, b) in sweep.items())
columns = ("rows", "plain PyTorch", "compiled", "speed-up")
units, formats = ("", "ms", "ms", ""), ("d", ".3f", ".3f", ".2f")
tclab.show(tclab.Table("A batch sweep", "sweep", columns, rows, units, formats))
chart = {"plain PyTorch": [row[1] for row in rows], "compiled": [row[2] for row in rows]}
sizes = tuple(sweep)
tclab.show(
    tclab.Chart("Time of a call", "chart", sizes, chart, "rows", "ms", log_x=True, log_y=True)
)
print("compiling pays from this many rows on:", pays_from(sweep))
# claim: a-row-of-a-small-batch-costs-more
assert sweep[2][1] / 2 > 2 * sweep[4096][1] / 4096

# %% [markdown]
# [A row of the small batch costs the compiled function more than twice what a row of the large one
# costs](claim:labs/lab5_benchmarks#a-row-of-a-small-batch-costs-more): the call itself has a price.
# On the machine that made this page the speed-up at two
# rows was [](value:labs/lab5_benchmarks#sweep/2/speed-up), at 4,096 rows
# [](value:labs/lab5_benchmarks#sweep/4096/speed-up).
#
# ## Key questions
#
# <details><summary>Why take turns, and not one function after the other?</summary>
#
# A machine may grow slower while you measure. [In turns, two functions that are equally fast on
# such a machine come out nearer to 1 than one after the
# other.](claim:labs/lab5_benchmarks#turns-are-fair)
#
# </details>
#
# <details><summary>What may a benchmark not leave out?</summary>
#
# [That the results agree](claim:labs/lab5_benchmarks#a-wrong-result-has-no-speed-up); [what the
# first call cost](claim:labs/lab5_benchmarks#a-first-call-is-another-thing); and at which size it
# was measured, since [a row's
# price depends on it](claim:labs/lab5_benchmarks#a-row-of-a-small-batch-costs-more).
#
# </details>
#
# <details><summary>When is an honest answer “do not compile”?</summary>
#
# Where `break_even` says more calls than the program makes, or infinity: short scripts, and inputs
# so small that [the call
# outweighs the work](claim:labs/lab5_benchmarks#a-row-of-a-small-batch-costs-more).
#
# </details>
