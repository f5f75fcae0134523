"""Calls of something compiled that run no graph, or leave out what stands around it.

The backend counts the graphs that it is given. Each result is compared with eager's.
"""

import functools
import os
import pickle

import torch
from torch._dynamo.testing import CompileCounter

import tclab


def terms(x):
    for power in range(3):
        yield x.sin() + power


def added(x):
    return sum(terms(x))


@functools.lru_cache
def ramp(length):
    return torch.arange(length).float()


def shifted(x):
    return x.sin() + ramp(4)


def compiled(fn):
    torch._dynamo.reset()
    counter = CompileCounter()
    return torch.compile(fn, backend=counter), counter


def graphs(fn, whole=lambda result: result):
    """Graphs of one call; the result, made whole, must be eager's."""
    ready, counter = compiled(fn)
    torch.testing.assert_close(whole(ready(x)), whole(fn(x)))
    return counter.frame_count


def switched_off():
    """Graphs with the environment variable set, when `torch.compile` is called."""
    os.environ["TORCHDYNAMO_DISABLE"] = "1"
    try:
        return graphs(added)
    finally:
        del os.environ["TORCHDYNAMO_DISABLE"]


def by_stance(stance):
    with torch.compiler.set_stance(stance):
        return graphs(added)


x = torch.ones(4)
rows = [
    ("a function that uses a generator", graphs(added)),
    ("the generator itself", graphs(terms, list)),
    ("with TORCHDYNAMO_DISABLE=1", switched_off()),
    ("with the stance force_eager", by_stance("force_eager")),
    ("with the stance default", by_stance("default")),
]
tclab.show(tclab.Table("Graphs of one call", "graphs", ("what is called", "graphs"), rows))
found = dict(rows)
# claim: a-generator-is-not-compiled
assert found["the generator itself"] == 0
# claim: what-uses-one-is
assert found["a function that uses a generator"] == found["with the stance default"] == 1
# claim: switched-off-there-is-no-graph
assert found["with TORCHDYNAMO_DISABLE=1"] == found["with the stance force_eager"] == 0

ready, counter = compiled(shifted)
result, kept = ready(x), ramp.cache_info().currsize
# claim: a-cache-in-python-is-traced-through
assert counter.frame_count == 1 and torch.equal(result, shifted(x))
# claim: and-is-neither-asked-nor-filled
assert kept == 0 and ramp.cache_info().currsize == 1  # eager filled it, in the line above

ready, counter = compiled(added)
seen = []
for mode in (torch.no_grad, torch.inference_mode, torch.enable_grad, torch.inference_mode):
    with mode():
        ready(x)
    seen.append((mode.__name__, counter.frame_count))
tclab.show(tclab.Table("Compiles, mode by mode", "modes", ("called in", "compiles so far"), seen))
# claim: inference-mode-is-a-compile-of-its-own
assert [number for _, number in seen] == [1, 2, 3, 3]


def pickled(fn):
    try:
        return pickle.loads(pickle.dumps(fn))
    except (pickle.PicklingError, AttributeError):
        return None


decorated, plain = torch.compile(terms, backend="eager"), added
renamed = torch.compile(added, backend="eager")
added = torch.compile(added, backend="eager")  # as the decorator does
# claim: a-compiled-function-is-pickled-by-its-name
assert pickled(plain) is None and pickled(renamed) is None and pickled(added) is added
