"""Where the break stands decides what it costs.

After a break Dynamo must resume in the middle of your function. In straight code and inside
`with torch.no_grad()` it can. Inside a `for` loop, a `try`, or a context manager that it does
not know, it gives the whole function up, and **no** graph of it is left, not even of the
operations before the break. Functions that it calls are still compiled: put the loop's body into a
function of your own, and that one is split into graphs. The loop itself is given up all the same.
Dynamo knows a loop by the jump back to its begin, and looks for that only as far as the next
`return` of the bytecode.
"""

import contextlib
import dis
import sys

import torch

import tclab


def straight(x):
    x = x.sin()
    torch._dynamo.graph_break()
    return x.cos()


def known_manager(x):
    with torch.no_grad():
        x = x.sin()
        torch._dynamo.graph_break()
    return x.cos()


def in_loop(x):
    for _ in range(3):
        x = x.sin()
        torch._dynamo.graph_break()
    return x.cos()


def in_loop_with_a_return(x):
    for _ in range(3):
        x = x.sin()
        torch._dynamo.graph_break()
        if x.shape[0] > 100:
            return x
    return x.cos()


def in_loop_with_a_return_in_an_else(x):
    for _ in range(3):
        x = x.sin()
        torch._dynamo.graph_break()
        if x.shape[0] < 100:
            x = x + 1
        else:
            return x
    return x.cos()


def in_try(x):
    try:
        x = x.sin()
        torch._dynamo.graph_break()
    except ValueError:
        pass
    return x.cos()


@contextlib.contextmanager
def section():
    yield


def own_manager(x):
    with section():
        x = x.sin()
        torch._dynamo.graph_break()
    return x.cos()


def loop_of_calls(x):
    for _ in range(3):
        x = straight(x)
    return x


layers = torch.nn.ModuleList(torch.nn.Linear(8, 8) for _ in range(3))


def loop_of_pytorchs_own_layers(x):
    for layer in layers:
        x = layer(x)
        torch._dynamo.graph_break()
    return x


x = torch.randn(8)
rows = []
FUNCTIONS = (straight, known_manager, in_loop, in_loop_with_a_return)
FUNCTIONS += (in_loop_with_a_return_in_an_else, in_try, own_manager, loop_of_calls)
for fn in (*FUNCTIONS, loop_of_pytorchs_own_layers):
    c = tclab.capture(fn, backend="eager")(x)
    torch.testing.assert_close(c.result, fn(x))
    operations = sum(len(g) for g in c.graphs)
    rows.append((fn.__name__, len(c.graphs), operations, any(b.skipped for b in c.breaks)))
    if fn is in_loop:
        tclab.show(c.breaks, name="in-a-loop")


def hides(fn):
    """Whether the bytecode of a loop has a return before its jump back."""
    after = [i.opname for i in dis.get_instructions(fn)]
    kinds = [name for name in after if name.startswith(("RETURN", "JUMP_BACK", "JUMP_ABSOLUTE"))]
    return kinds[0].startswith("RETURN")


left = {name: (graphs, given_up) for name, graphs, _, given_up in rows}
# claim: straight-code-is-split
assert left["straight"] == left["known_manager"] == (2, False)
# claim: a-block-gives-the-function-up
assert left["in_loop"] == left["in_try"] == left["own_manager"] == (0, True)
LOOPS = (in_loop, in_loop_with_a_return, in_loop_with_a_return_in_an_else)
# claim: a-return-hides-the-loop
assert all(left[fn.__name__] == ((4, False) if hides(fn) else (0, True)) for fn in LOOPS)
# claim: python-decides-where-the-return-stands
assert [hides(fn) for fn in LOOPS] == [False, sys.version_info < (3, 12), False]
# claim: called-functions-are-still-compiled
assert left["loop_of_calls"] == (2, True)
# claim: layers-of-pytorch-are-not
assert left["loop_of_pytorchs_own_layers"] == (0, True)

tclab.show(
    tclab.Table(
        title="What is left of each function",
        columns=("function", "graphs", "operations in them", "function given up"),
        rows=rows,
    ),
    name="what-is-left",
)
