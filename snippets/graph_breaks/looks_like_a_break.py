"""What looks like a break and is not.

All of these compile into one graph, under `fullgraph=True`, which raises at the first break.
"""

import contextlib
from dataclasses import dataclass

import numpy as np
import torch

import tclab


@dataclass
class State:
    total: float = 0.0
    seen: list = None


state = State(seen=[])


@contextlib.contextmanager
def doubled(x):
    yield x * 2


def pairs(x):
    for i in range(2):
        yield x + i


def everything(x):
    x = x.clone()
    x.add_(1)  # in-place
    state.seen.append(tuple(x.shape))  # a list outside
    state.total += 0.5  # an attribute outside
    table = {"rows": x}  # a dict of tensors
    table["rows"] = table["rows"].relu()
    try:  # an exception that is caught
        raise ValueError("no")
    except ValueError:
        x = table["rows"] + 1
    with doubled(x) as y:  # a context manager of one's own
        x = y
    for piece in pairs(x):  # a generator
        x = x + piece
    x = x + torch.from_numpy(np.sin(x.numpy()))  # NumPy, traced into torch operations
    size = len([n for n in range(x.shape[0]) if n % 2])  # a comprehension
    label = f"{size}-{x.dtype}"  # a string
    assert label.startswith("4"), "an assert on Python values"
    return x * size


torch.manual_seed(0)
x = torch.randn(8)
c = tclab.capture(everything, backend="eager", fullgraph=True)(x)
# claim: one-graph
assert len(c.graphs) == 1 and len(c.breaks) == 0
# claim: its-side-effects-happened
assert state.seen == [(8,)] and state.total == 0.5
torch.testing.assert_close(c.result, everything(x))

tclab.show(c.graphs[0], name="graph")


def counts_its_calls(x):
    counts_its_calls.calls += 1  # an attribute of a function
    return x + 1


counts_its_calls.calls = 0
if tuple(map(int, torch.__version__.split(".")[:2])) < (2, 14):
    # claim: an-attribute-of-a-function-breaks, torch < 2.14
    assert len(tclab.capture(counts_its_calls, backend="eager")(x).breaks) == 1
