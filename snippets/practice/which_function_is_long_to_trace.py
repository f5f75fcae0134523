"""Dynamo's profiler: which of your functions takes the time of tracing.

It counts functions that Dynamo inlined, as cProfile counts functions that ran. Both look at the
same compile, of a function that no profiler has seen yet. A function that breaks comes after it.
"""

import contextlib
import cProfile
import io
import pstats
import tempfile
from pathlib import Path

import torch

import tclab


def embed(x):
    return torch.relu(x) + 1


def mix(x, times):
    for number in range(times):
        x = x * 2 + number
    return x


def f(x):
    x = embed(x)
    for _ in range(4):
        x = mix(x, 50)
    return x.sum()


def prints(x):
    print("here", end="")
    return x + 1


def entries(path):
    """Times traced and seconds of each function: its own, and with what it calls."""
    stats = pstats.Stats(str(path)).stats
    return {name: (calls, own, whole) for (_, _, name), (_, calls, own, whole, _) in stats.items()}


torch.compile(lambda x: torch.relu(x * 2 + 1).sum(), backend="eager")(torch.ones(2))  # imports
torch._dynamo.reset()
with tempfile.TemporaryDirectory() as folder:
    traced, ran = Path(folder, "dynamo.prof"), Path(folder, "python.prof")
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        with torch._dynamo.config.patch(dynamo_profiler=str(traced)):
            torch.compile(f, backend="eager")(torch.ones(2))
            try:
                torch.compile(prints, backend="eager")(torch.ones(2))
                at_a_break = "no error"
            except torch._dynamo.exc.InternalTorchDynamoError as error:
                at_a_break = str(error)
    torch._dynamo.reset()
    python = cProfile.Profile()
    with python:
        torch.compile(f, backend="eager")(torch.ones(2))
    python.dump_stats(ran)
    seen, by_python = entries(traced), entries(ran)

tclab.show(
    tclab.Table(
        title="By Dynamo's profiler",
        name="traced",
        columns=("function", "times traced", "own", "with what it calls"),
        units=("", "", "ms", "ms"),
        formats=("", "d", ".1f", ".1f"),
        rows=[(name, calls, 1e3 * own, 1e3 * whole) for name, (calls, own, whole) in seen.items()],
    )
)
longest = sorted(by_python.items(), key=lambda entry: -entry[1][1])[:5]
tclab.show(
    tclab.Table(
        title="By cProfile, the first five",
        name="python",
        columns=("function", "calls", "own"),
        units=("", "", "ms"),
        formats=("", "d", ".1f"),
        rows=[(name, calls, 1e3 * own) for name, (calls, own, _) in longest],
    )
)

# claim: each-inlined-call-is-counted
assert {name: calls for name, (calls, _, _) in seen.items()} == {"f": 1, "embed": 1, "mix": 4}
# claim: the-long-one-stands-out
assert seen["mix"][1] > 3 * seen["embed"][1]
# claim: cprofile-does-not-know-them
assert not {"embed", "mix"} & by_python.keys()
# claim: it-prints-a-table-too
assert "Dynamo Profiler" in printed.getvalue()
# claim: a-break-ends-it
assert "has no attribute 'f_code'" in at_a_break
