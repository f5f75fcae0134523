"""A Python loop is unrolled, and how to write it instead.

Dynamo runs a loop while it traces: every round leaves its own operations in the graph. The
compiler then works through all of them, and the kernel grows with the number of rounds. The same
sum, written as one operation, is a loop in the generated code. The last row compiles one round and
leaves the loop to Python.
"""

import torch

import tclab

ROUNDS = 64


def looped(x):
    total = torch.zeros_like(x[0])
    for i in range(x.shape[0]):  # before
        total = total + torch.tanh(x[i]) * i
    return total


def batched(x):
    weights = torch.arange(x.shape[0], device=x.device, dtype=x.dtype)
    return (torch.tanh(x) * weights[:, None]).sum(0)  # after


x = torch.randn(ROUNDS, 512)
rows, found = [], {}
for f, rounds in ((looped, ROUNDS // 4), (looped, ROUNDS), (batched, ROUNDS)):
    c = tclab.capture(f, dynamic=False)(x[:rounds])
    assert torch.allclose(c.result.double(), f(x[:rounds].double()), atol=1e-3)
    lines = sum(len(k.code.splitlines()) for k in c.kernels)
    found[f.__name__, rounds] = (len(c.graphs[0]), lines)
    rows.append((f.__name__, rounds, len(c.graphs[0]), len(c.forward[0]), len(c.kernels), lines))


def one_round(total, row, i):
    return total + torch.tanh(row) * i


with tclab.capture() as c:
    body, total = torch.compile(one_round), torch.zeros(512)
    for row, i in zip(x, torch.arange(ROUNDS)):
        total = body(total, row, i)
assert torch.allclose(total.double(), looped(x.double()), atol=1e-3)
alone = sum(len(k.code.splitlines()) for k in c.kernels)
operations = sum(len(graph) for graph in c.graphs)
rows.append(("one_round", ROUNDS, operations, len(c.post_grad[0]), len(c.kernels), alone))

# claim: each-round-is-in-the-graph
assert found["looped", ROUNDS][0] > ROUNDS > found["batched", ROUNDS][0]
# claim: the-kernel-grows-with-the-rounds
assert found["looped", ROUNDS][1] > 2 * found["looped", ROUNDS // 4][1]
# claim: one-operation-stays-small
assert found["looped", ROUNDS][1] > 3 * found["batched", ROUNDS][1]
# claim: the-body-alone-is-compiled-once
assert len(c.graphs) == len(c.kernels) == 1 and 4 * alone < found["looped", ROUNDS][1]
columns = ("function", "rounds", "in Dynamo's graph", "in ATen", "kernels", "lines of C++")
tclab.show(tclab.Table(title="Rounds of a loop, operations and lines", columns=columns, rows=rows))
