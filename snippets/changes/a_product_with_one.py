"""What a compiled `x * 1` returns: a new tensor as in eager, or `x` itself.

Each function is compiled with Inductor and called once. *The same memory* is asked of the pointers
of argument and result; then the result is written to, and the argument is looked at.
"""

import torch

import tclab

functions = {
    "x * 1": lambda x: x * 1,
    "x + 0": lambda x: x + 0,
    "x / 1": lambda x: x / 1,
    "x - 0": lambda x: x - 0,
    "(x * 1).clone()": lambda x: (x * 1).clone(),
}


def outcome(fn):
    """Whether the result has the memory of the argument; the argument after a write to it."""
    x = torch.ones(8)
    y = fn(x)
    shares = y.data_ptr() == x.data_ptr()
    y.add_(1)
    return shares, x[0].item()


def write_with_a_gradient(fn):
    """Whether a write to the result of an argument that needs a gradient "raises" or "is done"."""
    y = fn(torch.ones(8, requires_grad=True))
    try:
        y.add_(1)
    except RuntimeError:
        return "raises"
    return "is done"


eager = {text: outcome(fn) for text, fn in functions.items()}
compiled = {text: outcome(torch.compile(fn)) for text, fn in functions.items()}
times_one = torch.compile(functions["x * 1"])
outside = outcome(lambda x: times_one(x).clone())
columns = ("function", "eager shares memory", "compiled shares memory", "x[0] after result.add_(1)")
rows = [(text, str(eager[text][0]), str(compiled[text][0]), compiled[text][1])
        for text in functions]  # fmt: skip
rows.append(("x * 1, cloned outside of the compile", "", str(outside[0]), outside[1]))
trained = [write_with_a_gradient(fn) for fn in (functions["x * 1"], times_one)]
rows.append(("x * 1, with a gradient: a write", *trained, ""))
tclab.show(tclab.Table("An operation that changes no value", "outcomes", columns, rows))

# claim: in-eager-each-is-new
assert len(eager) == 5 and all(of == (False, 1.0) for of in eager.values())
# claim: a-clone-outside-is-new
assert outside == (False, 1.0)
inside = compiled.pop("(x * 1).clone()")
if tuple(map(int, torch.__version__.split(".")[:2])) < (2, 14):
    # claim: compiled-each-is-new, torch < 2.14
    assert len(compiled) == 4 and all(of == (False, 1.0) for of in [*compiled.values(), inside])
    # claim: with-a-gradient-a-write-is-done, torch < 2.14
    assert trained == ["is done", "is done"]
else:
    # claim: compiled-it-is-x, torch >= 2.14
    assert len(compiled) == 4 and all(shares for shares, _ in compiled.values())
    # claim: a-write-into-it-changes-x, torch >= 2.14
    assert all(changed == 2.0 for _, changed in compiled.values())
    # claim: a-clone-inside-is-no-help, torch >= 2.14
    assert inside == (True, 2.0)
    # claim: with-a-gradient-a-write-raises, torch >= 2.14
    assert trained == ["is done", "raises"]
