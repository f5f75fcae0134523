"""Where `torch.compile` breaks the graph, and `torch.export` stops.

An exported program has one graph and no Python around it. So what a break would leave to Python may
be an error, or gone from the program, as a `print` is.
"""

import contextlib
import io

import torch

import tclab

seen = []


def plain(x):
    return x.relu() + 1


def branches_on_data(x):
    return x.relu() if x.sum() > 0 else x - 1


def cond(x):
    return torch.cond(x.sum() > 0, lambda x: x.relu(), lambda x: x - 1, (x,))


def prints(x):
    print("called")
    return x + 1


def appends(x):
    seen.append(x.shape[0])
    return x + 1


def reads_an_item(x):
    return x * x[0].item()


def counts_by_an_item(x):
    for _ in range(int(x.sum().item())):
        x = x + 1
    return x


class Wrapped(torch.nn.Module):
    def __init__(self, fn):
        super().__init__()
        self.fn = fn

    def forward(self, x):
        return self.fn(x)


def exported(fn, x):
    """What export says, and what is left of the effects when the program is called."""
    try:
        program = torch.export.export(Wrapped(fn), (x,)).module()
    except Exception as error:
        return type(error).__name__, 0
    printed, before = io.StringIO(), len(seen)
    with contextlib.redirect_stdout(printed):
        result = program(x)
    effects = len(printed.getvalue().splitlines()) + len(seen) - before
    other = x + 1  # a number that was read while exporting would show here
    right = torch.equal(result, fn(x)) and torch.equal(program(other), fn(other))
    return ("right" if right else "wrong"), effects


class Counts(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        self.calls += 1
        return x + self.calls


FUNCTIONS = (plain, branches_on_data, cond, reads_an_item, counts_by_an_item, prints, appends)
x, rows = torch.ones(4), {}
exports = {fn: exported(fn, x) for fn in FUNCTIONS}
for fn in FUNCTIONS:
    c = tclab.capture(fn, backend="eager")(x)
    rows[fn.__name__] = len(c.graphs), len(c.breaks), *exports[fn]
tclab.show(
    tclab.Table(
        title="Seven functions",
        name="functions",
        columns=("function", "graphs of torch.compile", "breaks", "exported", "effects of a call"),
        rows=[(name, *row) for name, row in rows.items()],
    )
)

counts = torch.export.export(Counts(), (x,)).module()
counted = [counts(x)[0].item() for _ in range(3)]

# claim: where-compile-breaks-on-data-export-raises
assert rows["branches_on_data"][1:3] == (1, "GuardOnDataDependentSymNode")
# claim: cond-is-one-graph-for-both
assert rows["cond"][:3] == (1, 0, "right")
# claim: an-item-is-a-symbol
assert rows["reads_an_item"][1:3] == (1, "right")
# claim: a-number-that-python-needs-is-an-error
assert rows["counts_by_an_item"][1:3] == (1, "GuardOnDataDependentSymNode")
# claim: a-print-is-gone
assert rows["prints"][1:] == (1, "right", 0)
# claim: a-list-is-not-appended-to
assert rows["appends"][2:] == ("right", 0)
# claim: a-buffer-changes-at-each-call
assert counted == [2, 3, 4]

dropout, ones = torch.nn.Dropout(0.5), torch.ones(64)
training = torch.export.export(dropout, (ones,)).module()
evaluating = torch.export.export(dropout.eval(), (ones,)).module()
# claim: dropout-stays-as-it-was-exported
assert 0 < (training(ones) == 0).sum() < 64 and torch.equal(evaluating(ones), torch.ones(64))
try:
    training.eval()
except NotImplementedError as error:
    refused = str(error)
# claim: eval-of-a-program-is-an-error
assert "eval()" in refused
