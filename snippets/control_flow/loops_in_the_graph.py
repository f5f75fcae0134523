"""A loop over rows: in Python, as `scan`, as `associative_scan`; and one that asks the data.

The operators are compiled with Inductor for a CPU; all forms with the backend `eager` for four
lengths, one call each, which is what the last column counts.
"""
# tclab: needs=cxx timeout=240

import torch
from torch._dynamo.utils import counters
from torch._higher_order_ops import associative_scan, scan, while_loop
from torch._inductor.exc import InductorError

import tclab


def in_python(x):
    total, totals = x[0] * 0, []
    for row in x:
        total = total + row
        totals.append(total)
    return torch.stack(totals)


def by_scan(x):
    return scan(lambda total, row: (total + row, total + row), x[0] * 0, x)[1]


def by_associative_scan(x):
    return associative_scan(lambda a, b: a + b, x, dim=0, combine_mode="generic")


def doubled(x):
    """Doubled until the sum is large."""
    return while_loop(lambda x: x.sum() < 100, lambda x: (x * 2,), (x,))[0]


def doubled_in_python(x):
    while x.sum() < 100:
        x = x * 2
    return x


def counted(x):
    return while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (0, x))[1]


def gradient(form):
    leaf = x.clone().requires_grad_()
    form(leaf).sum().backward()
    return leaf.grad


def compiled_with_gradient(form):
    """The capture of a call, and the gradient of its result."""
    leaf = x.clone().requires_grad_()
    c = tclab.capture(form, fullgraph=True)(leaf)
    c.result.sum().backward()
    return c, leaf.grad


def graphs(call):
    torch._dynamo.reset()
    counters.clear()
    call = torch.compile(call, fullgraph=True, backend="eager")
    for length in (4, 5, 6, 7):
        call(torch.ones(length, 4))
    return counters["stats"]["unique_graphs"]


def row(call, operator):
    """The form; whether the operator is in the graph after Inductor's passes; whether the code of
    a call has a loop.
    """
    code = captured[call][0]
    kept = any(operator in str(node.target) for node in code.post_grad[0].nodes)
    return call.__name__, kept, "while should_loop" in code.wrapper[0].code


def error(call, **how):
    torch._dynamo.reset()
    try:
        torch.compile(call, **how)(x)
    except InductorError as raised:
        return str(raised)


x = torch.rand(4, 4)
FORMS = {by_scan: in_python, by_associative_scan: in_python, doubled: doubled_in_python}
captured = {form: compiled_with_gradient(form) for form in FORMS}
# claim: all-are-right-with-gradients
assert all(
    torch.allclose(c.result, expected(x)) and torch.allclose(slope, gradient(expected))
    for (c, slope), expected in zip(captured.values(), FORMS.values(), strict=True)
)
operators = {by_associative_scan: "scan"}
rows = [row(form, operators.get(form, "while_loop")) for form in FORMS]
found = {name: rest for name, *rest in rows}
(unrolled,) = tclab.capture(in_python, backend="eager", fullgraph=True)(x).graphs
numbers = {form: graphs(form) for form in (in_python, *FORMS)}
table = [
    (form.__name__, *found.get(form.__name__, ("–", "–")), number)
    for form, number in numbers.items()
]  # fmt: skip
columns = ("form", "operator kept by Inductor", "loop in the wrapper", "graphs with eager")
tclab.show(tclab.Table("Loops in the graph", "loops", columns, table))
# claim: a-python-loop-is-unrolled
assert sum("add" in str(node.target) for node in unrolled.nodes) == len(x)
# claim: scan-becomes-a-while-loop
assert found["by_scan"][0]
# claim: the-loop-is-pythons
assert found["by_scan"][1] and found["doubled"][1]
# claim: an-associative-scan-is-unrolled
assert found["by_associative_scan"] == [False, False]
# claim: unrolled-it-compiles-for-each-length
assert numbers[in_python] == numbers[by_associative_scan] == 4
# claim: a-loop-compiles-twice
assert numbers[by_scan] == numbers[doubled] == 2
# claim: scan-wants-fullgraph
assert "_local_scalar_dense" in error(by_scan)
# claim: a-number-is-no-carry
assert error(counted, fullgraph=True)
# claim: while-loop-alone-is-public
assert [hasattr(torch, name) for name in ("while_loop", "scan", "associative_scan")] == [
    True, False, False
]  # fmt: skip
