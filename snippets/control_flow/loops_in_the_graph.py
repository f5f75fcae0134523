"""A loop over rows: in Python, as `scan`, as `associative_scan`; and one that asks the data.

Each is compiled with Inductor for a CPU. `graphs` are those of four lengths, one call each.
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


def gradient(call, x):
    x = x.clone().requires_grad_()
    call(x).sum().backward()
    return x.grad


def graphs(call):
    torch._dynamo.reset()
    counters.clear()
    call = torch.compile(call, fullgraph=True)
    for length in (4, 5, 6, 7):
        call(torch.ones(length, 4))
    return counters["stats"]["unique_graphs"]


def row(call, expected, operator):
    """The form; its calls in Dynamo's graph; whether the operator is there, and after Inductor's
    passes; whether the code of a call has a loop; graphs; right.
    """
    torch._dynamo.reset()
    c = tclab.capture(call, fullgraph=True)(x)
    calls = [node for node in c.graphs[0].nodes if node.op.startswith("call_")]
    with_gradient = torch.compile(call, fullgraph=True)
    right = torch.allclose(c.result, expected(x))
    right &= torch.allclose(gradient(with_gradient, x), gradient(expected, x))
    kept = any(operator in str(node.target) for node in c.post_grad[0].nodes)
    loop = "while should_loop" in c.wrapper[0].code
    return call.__name__, len(calls), kept, loop, graphs(call), "right" if right else "wrong"


def error(call, **how):
    torch._dynamo.reset()
    try:
        torch.compile(call, **how)(x)
    except InductorError as raised:
        return str(raised)


x = torch.rand(8, 4)
rows = [
    row(in_python, in_python, "while_loop"),
    row(by_scan, in_python, "while_loop"),
    row(by_associative_scan, in_python, "scan"),
    row(doubled, doubled_in_python, "while_loop"),
]
columns = ("form", "calls in Dynamo's graph", "kept", "loop in the wrapper", "graphs", "result")
tclab.show(tclab.Table("Loops in the graph", "loops", columns, rows))
found = {name: rest for name, *rest in rows}
# claim: a-python-loop-is-unrolled
assert found["in_python"][0] > len(x)
# claim: scan-becomes-a-while-loop
assert found["by_scan"][1]
# claim: the-loop-is-pythons
assert found["by_scan"][2] and found["doubled"][2]
# claim: an-associative-scan-is-unrolled
assert found["by_associative_scan"][1:3] == [False, False]
# claim: unrolled-it-compiles-for-each-length
assert found["in_python"][3] == found["by_associative_scan"][3] == 4
# claim: a-loop-compiles-twice
assert found["by_scan"][3] == found["doubled"][3] == 2
# claim: all-are-right-with-gradients
assert all(result == "right" for *_, result in rows)
# claim: scan-wants-fullgraph
assert "_local_scalar_dense" in error(by_scan)
# claim: a-number-is-no-carry
assert error(counted, fullgraph=True)
# claim: while-loop-alone-is-public
assert [hasattr(torch, name) for name in ("while_loop", "scan", "associative_scan")] == [
    True, False, False
]  # fmt: skip
