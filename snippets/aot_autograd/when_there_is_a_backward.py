"""When there is a joint graph, and when one graph for inference.

First calls of one function, and of one that detaches its weight. A joint graph is made if some
result depends on an input that requires a gradient, and gradient mode is on at that moment. What
the call does later with the result does not count: no backward is ever run here. The last two rows
call one compiled function twice.
"""

import torch

import tclab


def f(x, w):
    return torch.relu(x @ w)


def detached(x, w):
    return f(x, w.detach())


x, plain = torch.randn(8, 4), torch.randn(4, 4)
weight = plain.clone().requires_grad_()


def graphs(*calls, fn=f):
    """Dynamo's graphs, joint and backward graphs; whether the last result has a past."""
    torch._dynamo.reset()
    with tclab.capture() as c:
        compiled = torch.compile(fn, backend="aot_eager")
        for w, enabled in calls:
            with torch.set_grad_enabled(enabled):
                result = compiled(x, w)
    torch.testing.assert_close(result, f(x, w))
    return len(c.graphs), len(c.joint), len(c.backward), result.requires_grad


rows = [
    ("a weight that requires a gradient", *graphs((weight, True))),
    ("the same, under no_grad", *graphs((weight, False))),
    ("no input requires a gradient", *graphs((plain, True))),
    ("the function detaches the weight", *graphs((weight, True), fn=detached)),
    ("a weight; no_grad, then gradients", *graphs((weight, False), (weight, True))),
    ("no weight requires one, then one does", *graphs((plain, True), (weight, True))),
]
# claim: gradients-make-a-joint-graph
assert rows[0][1:] == (1, 1, 1, True)
# claim: no-grad-makes-one-graph
assert rows[1][1:] == (1, 0, 0, False)
# claim: nothing-to-differentiate-makes-one-graph
assert rows[2][1:] == (1, 0, 0, False)
# claim: detached-makes-one-graph
assert rows[3][1:] == (1, 0, 0, False)
# claim: each-has-an-entry
assert rows[4][1:] == rows[5][1:] == (2, 1, 1, True)

columns = ("first calls", "entries", "joint graphs", "backward graphs", "result requires grad")
tclab.show(tclab.Table("Who gets a backward", "backward", columns, rows))
