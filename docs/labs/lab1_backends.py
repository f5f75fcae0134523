# tclab: needs=cxx timeout=120

# %% [markdown]
# # Lab 1 · Backends
#
# After this lab you can say how equal a compiled result must be, what the first call pays for,
# and what each backend leaves out. You write four functions. Each has a checker that calls
# them with inputs you have not seen.

# %%
import torch
from torch import nn

import tclab

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.set_num_threads(1)  # so that what else the machine does disturbs the times less


def mlp():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(256, 512), nn.GELU(), nn.LayerNorm(512), nn.Linear(512, 64))


model = mlp().to(device)
torch.manual_seed(1)
x = torch.randn(128, 256, device=device)

# %% [markdown]
# ## One model, three backends
#
# `eager` runs the graph that Dynamo captured, operation by operation. `aot_eager` first
# takes it through AOTAutograd. `inductor` writes code for it. Do they give the same numbers?
#
# *Predict first:* which of the three will be equal to plain PyTorch in every bit?

# %% tags=["try"]
with torch.no_grad():
    expected = model(x)
    exact = mlp().double().to(device)(x.double())

results, rows = {}, []
for backend in ("eager", "aot_eager", "inductor"):
    torch.compiler.reset()
    with torch.no_grad():
        results[backend] = result = torch.compile(model, backend=backend)(x)
    rows.append(
        {
            "backend": backend,
            "every bit": result.equal(expected),
            "largest difference": float((result - expected).abs().max()),
            "error against float64": float((result - exact).abs().max()),
        }
    )
error = float((expected - exact).abs().max())
rows.append(
    {
        "backend": "plain PyTorch",
        "every bit": True,
        "largest difference": 0.0,
        "error against float64": error,
    }
)
tclab.show(rows, title="Each backend against plain PyTorch, and against float64")

# claim: eager-every-bit
assert results["eager"].equal(expected)
# claim: aot-eager-every-bit
assert results["aot_eager"].equal(expected)
# claim: inductor-rounds-elsewhere
assert not results["inductor"].equal(expected)
# claim: not-less-exact
assert float((results["inductor"] - exact).abs().max()) < 3 * error

# %% [markdown]
# [The first two call the same library functions in the same order, and give every bit of the
# same result.](claim:labs/lab1_backends#eager-every-bit,labs/lab1_backends#aot-eager-every-bit)
# [Inductor's code adds in another order and rounds
# elsewhere.](claim:labs/lab1_backends#inductor-rounds-elsewhere)
# [Measured against float64 it is about as exact as plain
# PyTorch.](claim:labs/lab1_backends#not-less-exact) So neither of the two is *the* right one,
# and a comparison needs a tolerance.
#
# ## Exercise 1: equal, as far as floats allow
#
# Write `close_enough(result, expected)`. It says `True` where two results of one computation
# differ by no more than rounding can explain, and else `False`:
#
# - at any scale of the values (all about 1,000,000, or all about 0.000001), with some near zero
#   among them;
# - in float32 and in bfloat16, which keeps far fewer bits;
# - never for another shape, for NaN, or where the largest element is 3 % off.

# %% tags=["exercise"]
def close_enough(result, expected):
    """True where `result` is `expected`, but for rounding."""
    ### BEGIN SOLUTION
    if result.shape != expected.shape or result.dtype != expected.dtype:
        return False
    rtol = 1.6e-2 if expected.dtype == torch.bfloat16 else 1e-5  # two steps of bfloat16
    scale = float(expected.abs().max())  # what is near zero has the rounding of its neighbours
    return torch.allclose(result.double(), expected.double(), rtol=rtol, atol=0.1 * rtol * scale)
    ### END SOLUTION


# %% tags=["try"]
for backend, result in results.items():
    print(f"{backend:10} {close_enough(result, expected)}")
print(f"{'3 % off':10} {close_enough(expected * 1.03, expected)}")
print(f"{'and small':10} {close_enough(expected * 1.03e-6, expected * 1e-6)}")

# %% [markdown]
# ## Exercise 2: the first call against later ones
#
# `torch.compile` does nothing until the first call, and that call compiles. Write
# `first_and_later(call)`. `call` takes no arguments and has never been called. Return two numbers
# of seconds: what the first call took, and what a later call typically takes. One of the later
# calls may be slowed down by something else on the machine, or have far less to do.

# %% tags=["exercise"]
import statistics
import time


def first_and_later(call):
    """Seconds of the first call, and of a typical later one."""
    ### BEGIN SOLUTION
    seconds = []
    for _ in range(8):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return seconds[0], statistics.median(seconds[1:])
    ### END SOLUTION


# %% tags=["try"]
calls = {"plain PyTorch": lambda: model(x)}
for backend in ("eager", "aot_eager", "inductor"):
    torch.compiler.reset()
    compiled = torch.compile(mlp().to(device), backend=backend)
    calls[backend] = lambda compiled=compiled: compiled(x)

measured = {}
with torch.no_grad():
    for name, call in calls.items():
        measured[name] = first_and_later(call)
tclab.show(
    tclab.Table(
        "The first call, and a later one",
        "first-and-later",
        ("what", "first call", "later call", "first / later"),
        tuple((name, a, b * 1e3, a / b) for name, (a, b) in measured.items()),
        ("", "s", "ms", ""),
        ("", ".3f", ".3f", ".0f"),
    )
)
# claim: the-first-call-compiles
assert measured["inductor"][0] > 20 * measured["inductor"][1]
# claim: more-is-done-more-is-paid
assert measured["eager"][0] < measured["inductor"][0]

# %% [markdown]
# [The first call takes many times as long as a later
# one.](claim:labs/lab1_backends#the-first-call-compiles) [That of `inductor` takes longer than that
# of `eager`, which writes no code.](claim:labs/lab1_backends#more-is-done-more-is-paid)
#
# ## Exercise 3: where the seconds of the first call go
#
# A capture has the seconds of the compile by phase: `capture.times`, a table whose rows are
# `(phase, times, seconds)`. Write `slowest_phase(times)`: the name of the phase that took the
# most seconds. *Predict first* which it will be for this model.

# %% tags=["try"]
with torch.no_grad():
    capture = tclab.capture(mlp().to(device))(x)
tclab.show(capture.times)

# %% tags=["exercise"]
def slowest_phase(times):
    """The phase of `times.rows` that took the most seconds."""
    ### BEGIN SOLUTION
    phases = [row for row in times.rows if row[0] != "Total"]
    return max(phases, key=lambda row: row[2])[0]
    ### END SOLUTION


# %% tags=["try"]
print(slowest_phase(capture.times))

# %% [markdown]
# ## Exercise 4: what a backend leaves out
#
# Write `stages(fn, x, backend)`: compile and call `fn(x)` with the backend, and return a set of
# what came out: `"graph"` (Dynamo's graph), `"aten"` (a graph of ATen operations, from
# AOTAutograd), `"kernels"` (code that was generated; a call into a library is none). A backend is
# a name or any callable. `tclab.capture(fn, backend=...)(x)` keeps every stage: `.graphs`,
# `.joint`, `.forward`, `.backward`, `.kernels`.

# %% tags=["exercise"]
def stages(fn, x, backend):
    """Which of "graph", "aten" and "kernels" a compile of fn(x) brings forth."""
    ### BEGIN SOLUTION
    capture = tclab.capture(fn, backend=backend)(x)
    there = {
        "graph": capture.graphs,
        "aten": capture.forward,
        "kernels": [kernel for kernel in capture.kernels if kernel.category != "extern"],
    }
    return {name for name, parts in there.items() if parts}
    ### END SOLUTION


# %% tags=["try"]
with torch.no_grad():
    by_backend = {b: stages(mlp().to(device), x, b) for b in ("eager", "aot_eager", "inductor")}
for backend, there in by_backend.items():
    print(f"{backend:10} {', '.join(sorted(there))}")
# claim: eager-stops-after-dynamo
assert by_backend["eager"] == {"graph"}
# claim: aot-eager-stops-before-code
assert by_backend["aot_eager"] == {"graph", "aten"}
# claim: inductor-writes-code
assert by_backend["inductor"] == {"graph", "aten", "kernels"}

# %% [markdown]
# ## Key questions
#
# <details><summary>Which backend shows that a wrong result comes from Dynamo?</summary>
#
# [`eager` stops after Dynamo's graph](claim:labs/lab1_backends#eager-stops-after-dynamo): if it
# already differs, the graph is wrong. [`aot_eager` adds AOTAutograd and no generated
# code](claim:labs/lab1_backends#aot-eager-stops-before-code), so what differs only under
# [`inductor`, which writes kernels](claim:labs/lab1_backends#inductor-writes-code), differs there.
#
# </details>
#
# <details><summary>Why may a compiled result differ in the last bits, and how much is too much?</summary>
#
# [Another order of additions rounds
# elsewhere](claim:labs/lab1_backends#inductor-rounds-elsewhere). The measure is the error against
# a more exact computation: [here that of the compiled result stays below three times that of plain
# PyTorch](claim:labs/lab1_backends#not-less-exact).
#
# </details>
#
# <details><summary>What would a benchmark say that times the first call?</summary>
#
# [It would time the compiler](claim:labs/lab1_backends#the-first-call-compiles). Lab 5 measures
# the rest, and when it pays.
#
# </details>
