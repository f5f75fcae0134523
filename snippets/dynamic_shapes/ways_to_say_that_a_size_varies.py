"""Six ways to say what a size may do.

Four sizes, 8, 16, 24 and 9, through three functions. The first does not care about the size, the
second asks whether it is 8, the third counts with it. A cell says how many graphs there were, or
which error came.
"""

import torch
from torch._dynamo.decorators import mark_unbacked
from torch.fx.experimental.symbolic_shapes import ConstraintViolationError

import tclab


def does_not_care(x):
    return x.sin() + x.shape[0]


def asks(x):
    return x.sin() if x.shape[0] == 8 else x.cos()


def counts(x):
    for i in range(x.shape[0]):
        x = x + i
    return x


WAYS = {
    "dynamic=False": ({"dynamic": False}, None),
    "default": ({}, None),
    "dynamic=True": ({"dynamic": True}, None),
    "maybe_mark_dynamic": ({}, torch._dynamo.maybe_mark_dynamic),
    "mark_dynamic": ({}, torch._dynamo.mark_dynamic),
    "mark_unbacked": ({}, mark_unbacked),
}


def graphs(fn, options, mark):
    """How many graphs four sizes need, and breaks if there are any; or the error."""
    inputs = [torch.ones(size) for size in (8, 16, 24, 9)]
    for x in inputs if mark else ():
        mark(x, 0)
    try:
        c = tclab.capture(fn, backend="eager", **options).over([(x,) for x in inputs])
    except ConstraintViolationError as error:
        errors[fn.__name__] = str(error)
        return "error"
    for x, result in zip(inputs, c.results):
        torch.testing.assert_close(result, fn(x))
    return f"{len(c.graphs)}, and it breaks" if c.breaks else str(len(c.graphs))


errors = {}
made = {
    fn.__name__: {way: graphs(fn, *how) for way, how in WAYS.items()}
    for fn in (does_not_care, asks, counts)
}
plain, asking, counting = made.values()
# claim: static-makes-one-for-each
assert {row["dynamic=False"] for row in made.values()} == {"4"}
# claim: automatic-makes-two
assert plain["default"] == "2"
# claim: the-others-make-one
assert all(plain[way] == "1" for way in list(WAYS)[2:])
# claim: a-question-splits-the-sizes
assert asking["dynamic=True"] == asking["maybe_mark_dynamic"] == "2"
# claim: counting-makes-the-size-a-constant
assert counting["default"] == counting["dynamic=True"] == counting["maybe_mark_dynamic"] == "4"
# claim: mark-dynamic-makes-it-an-error
assert asking["mark_dynamic"] == counting["mark_dynamic"] == "error"
# claim: maybe-is-the-mark-without-the-error
assert [row["maybe_mark_dynamic"] for row in made.values()] == ["1", "2", "4"]
# claim: the-error-names-the-line
assert all("L['x'].size()[0]" in error for error in errors.values())
assert "if x.shape[0] == 8" in errors["asks"] and "range(x.shape[0])" in errors["counts"]
# claim: an-unbacked-size-cannot-be-asked
assert "breaks" in asking["mark_unbacked"] and "breaks" in counting["mark_unbacked"]


def compares(x):
    return x.sin() if x.shape[0] > 10 else x.cos()


# claim: a-comparison-is-no-error
assert graphs(compares, *WAYS["mark_dynamic"]) == "2"


def is_told(x):
    torch._check(x.shape[0] > 4)
    return x.sin() if x.shape[0] > 4 else x.cos()


told = graphs(is_told, *WAYS["mark_unbacked"])
# claim: unless-the-code-tells-it
assert told == "1"

columns = ("way", *made)
rows = [(way, *(row[way] for row in made.values())) for way in WAYS]
tclab.show(tclab.Table("Graphs for four sizes", "ways", columns, rows))
