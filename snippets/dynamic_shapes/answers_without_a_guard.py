"""Questions about a size that make no guard, and a symbol that may be one.

Each function is called with several sizes, `backend="eager"`, so that Dynamo's graphs are counted.
A cell says how many there were, and which of sine and cosine each call took. The last function is
compiled by Inductor for two hints.
"""
# tclab: needs=cxx

import re

import torch
from torch._dynamo.decorators import mark_unbacked
from torch._dynamo.testing import CompileCounterWithBackend
from torch.fx.experimental import _config as symbols
from torch.fx.experimental.symbolic_shapes import guard_or_false, guard_or_true

import tclab


def asks(x):
    return x.sin() if x.shape[0] == 8 else x.cos()


def or_false(x):
    return x.sin() if guard_or_false(x.shape[0] == 8) else x.cos()


def or_true(x):
    return x.sin() if guard_or_true(x.shape[0] == 8) else x.cos()


def sine(x):
    return x.sin()


def marked_unbacked(size):
    x = torch.ones(size)
    mark_unbacked(x, 0)
    return x


def calls(fn, sizes, make=torch.ones, **options):
    """How many graphs, and what each call computed; or the error of the first."""
    torch._dynamo.reset()
    counter = CompileCounterWithBackend("eager")
    compiled = torch.compile(fn, backend=counter, fullgraph=True, **options)
    try:
        results = [compiled(make(size))[0] for size in sizes]
    except torch._dynamo.exc.UserError:
        return "an error", ""
    took = ["sine" if torch.isclose(y, torch.ones(()).sin()) else "cosine" for y in results]
    return str(counter.frame_count), ", ".join(took)


SIZES = (8, 16, 9)
rows = []
for fn in (asks, or_false, or_true):
    rows.append((fn.__name__, "dynamic=True", *calls(fn, SIZES, dynamic=True)))
    rows.append((fn.__name__, "mark_unbacked", *calls(fn, SIZES, marked_unbacked)))
columns = ("function", "the size", "graphs", "8, 16, 9 took")
tclab.show(tclab.Table("Is the size 8?", "answers", columns, rows))
found = {(name, way): tuple(cells) for name, way, *cells in rows}

# claim: a-plain-question-is-an-error
assert found["asks", "mark_unbacked"][0] == "an error"
# claim: guard-or-gives-its-own-answer
assert found["or_false", "mark_unbacked"] == ("1", "cosine, cosine, cosine")
assert found["or_true", "mark_unbacked"] == ("1", "sine, sine, sine")
# claim: with-a-backed-size-it-guards
assert {found[fn.__name__, "dynamic=True"] for fn in (asks, or_false, or_true)} == {
    ("2", "sine, cosine, cosine")
}
one_too = calls(sine, (5, 1, 2), dynamic=True)
with symbols.patch(backed_size_oblivious=True):
    oblivious = calls(sine, (5, 1, 2), dynamic=True)
    first_one = calls(sine, (1, 5), dynamic=True)
# claim: one-is-compiled-by-itself
assert one_too[0] == "2"
# claim: oblivious-one-graph-takes-it-too
assert oblivious[0] == first_one[0] == "1"


def hinted(hint):
    """The size with which Inductor's own benchmark calls the code, and the guards of the entry."""
    torch._dynamo.reset()
    x = torch.ones(8)
    torch._dynamo.mark_dynamic(x, 0, hint_override=hint)
    c = tclab.capture(torch.sin)(x)
    size = re.search(r"rand_strided\(\((\d+), ?\)", c.wrapper[0].code)[1]
    return int(size), [check for g in c.guards[0] for check in g.checks if "size()" in check]


(plain, its_guards), (overridden, same_guards) = hinted(None), hinted(4096)
# claim: a-hint-is-what-inductor-computes-with
assert (plain, overridden) == (8, 4096)
# claim: a-hint-is-no-guard
assert its_guards == same_guards and its_guards
