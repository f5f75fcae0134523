"""`torch.cond`: branches and predicates that do not compile, each beside one that does.

Each form is compiled with Inductor under `fullgraph=True`, and called, with and without gradients.
The other branch is always `x - 1`. A reason is what PyTorch's message says of the case.
"""
# tclab: needs=cxx timeout=240

import re

import torch
from torch.utils._pytree import tree_leaves

import tclab


class Case:
    """A form as text, and as a function: `torch.cond` with that predicate and that branch."""

    def __init__(self, predicate, branch):
        self.text = branch if predicate == POSITIVE else predicate
        self.parts = [eval(f"lambda x: {part}") for part in (predicate, branch, "x - 1")]

    def compiled_for(self, x):
        predicate, yes, no = self.parts
        return torch.cond(predicate(x), yes, no, (x,))

    def chosen_in_python(self, x):
        predicate, yes, no = self.parts
        return yes(x) if predicate(x) else no(x)


def total(result):
    return sum(leaf.sum() for leaf in tree_leaves(result))


def close(some, others):
    pairs = zip(tree_leaves(some), tree_leaves(others), strict=True)
    return all(torch.allclose(one, other) for one, other in pairs)


def derivative(call, x):
    x = x.clone().requires_grad_()
    total(call(x * 1)).backward()
    return x.grad


def outcome(call, x, grad):
    """None if the result, or its gradient, is there; else what PyTorch says."""
    torch._dynamo.reset()
    call = torch.compile(call, fullgraph=True)
    try:
        with torch.set_grad_enabled(grad):
            derivative(call, x) if grad else call(x.clone())
    except Exception as error:
        # Got graph break/error:\n\n  torch.cond: differing branch outputs
        # got RuntimeError("When merging two branches' output in torch.cond,  expected same dtype
        # backend='inductor' raised:\nRuntimeError: cond_true might be aliasing the input
        found = re.search(r"break/error:\s+(.+)|got RuntimeError\(.(.+)|raised:\n(.+)", str(error))
        reason = next(filter(None, found.groups())) if found else str(error).splitlines()[0]
        return reason.split(": true branch")[0].rstrip("\"').!")


POSITIVE = "x.sum() > 0"
seen, shift = [], torch.tensor(2.0)
BRANCHES = {
    "another number of outputs": ("(x + 1, x - 1)", "x + 1"),
    "another type": ("x.double() + 1", "x + 1"),
    "another number of dimensions": ("x.sum()", "x.sum() + x"),
    "another size": ("x[:2] + 1", "x + 1"),
    "an input as output": ("x", "x.clone()"),
    "an input is changed": ("x.add_(1).clone()", "x.add(1)"),
    "Python state is changed": ("(x + 1, seen.append(1))[0]", "x + shift"),
    "a number as output": ("x.sum().item()", "x.sum() + x"),
    "a sum, and its gradient": ("x.sum() + torch.zeros(4)", "x.sum() + x"),
    "an if on a tensor within": ("x + 1 if x[0] > 0 else x - 1",
                                 "torch.cond(x[0] > 0, lambda x: x + 1, lambda x: x - 1, (x,))"),
}  # fmt: skip
PREDICATES = {"several elements": ("x > 0", "(x > 0).all()")}
pairs = {what: [Case(POSITIVE, form) for form in forms] for what, forms in BRANCHES.items()}
pairs |= {what: [Case(form, "x + 1") for form in forms] for what, forms in PREDICATES.items()}
up, down = torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.tensor([-1.0, -2.0, -3.0, -4.0])
rows = [
    (what, fails.text, *(outcome(fails.compiled_for, up, grad) for grad in (False, True)),
     mend.text)
    for what, (fails, mend) in pairs.items()
]  # fmt: skip


def mended(x):
    return [mend.compiled_for(x) for mend in mends]


def mended_in_python(x):
    return [mend.chosen_in_python(x) for mend in mends]


mends = list({mend.text: mend for _, mend in pairs.values()}.values())
compiled = torch.compile(mended, fullgraph=True)
results = [compiled(x) for x in (up, down)]
expected = [mended_in_python(x) for x in (up, down)]
# claim: the-mended-forms-are-right
assert close(results, expected)
gradients = [derivative(compiled, x) for x in (up, down)]
# claim: so-are-their-gradients
assert close(gradients, [derivative(mended_in_python, x) for x in (up, down)])
columns = ("what", "form that fails", "without gradients", "with gradients", "form that is right")
tclab.show(tclab.Table("Pairs for torch.cond", "pairs", columns, rows))
without, with_ = ({row[0]: row[n] for row in rows} for n in (2, 3))
both = ("another number of outputs", "another type", "another number of dimensions",
        "an input as output", "Python state is changed", "a number as output",
        "an if on a tensor within", "several elements")  # fmt: skip
# claim: these-fail-with-and-without-gradients
assert all(without[what] and with_[what] for what in both)
with_alone = [row[0] for row in rows if row[3] and not row[2]]
# claim: these-fail-with-gradients-alone
assert {"another size", "a sum, and its gradient"} <= set(with_alone)
# claim: so-does-a-changed-input, torch >= 2.12
assert "an input is changed" in with_alone
