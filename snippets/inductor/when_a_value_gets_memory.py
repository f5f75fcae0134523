"""When a value of a pointwise chain gets memory of its own, on a CPU and for an H200.

With one reader it gets none, unless it has read very many tensors. With two it depends: a result of
the function is stored; a value that costs much is stored on a CPU, and computed twice for a GPU;
and what has read many tensors is stored, so that no reader has to read them all again. Nodes are
those before the scheduler's fusion: one for each value that is stored.
"""
# tclab: needs=triton timeout=240

import torch
from _ir import nodes

import tclab


def one_reader(x):
    return torch.sigmoid(torch.sin(x) + 1.0) * 2.0 - x


def sigmoid_read_twice(x):
    gate = torch.sigmoid(x + 1.0)
    return gate * 2.0, gate.cos()


def three_reads(*tensors):
    total = sum(tensors)
    return total * 2.0, total.cos()


def ten_reads(*tensors):
    total = sum(tensors)
    return total * 2.0, total.cos()


def twenty_reads_one_reader(*tensors):
    return sum(tensors)


CASES = {
    one_reader: 1,
    sigmoid_read_twice: 1,
    three_reads: 3,
    ten_reads: 10,
    twenty_reads_one_reader: 20,
}
rows = []
for f, inputs in CASES.items():
    args = [torch.randn(256, 512) for _ in range(inputs)]
    before, kernels = [], []
    for target in (None, "h200"):
        c = tclab.capture(f, dynamic=False, target=target)(*args)
        before.append(len(nodes(c.ir_pre_fusion[0])))
        kernels.append(len(c.kernels))
    results = f(*args)
    rows.append((f.__name__, 1 if torch.is_tensor(results) else len(results), *before, *kernels))

made = {name: (results, cpu, gpu) for name, results, cpu, gpu, *_ in rows}
# claim: one-reader-no-memory
assert made["one_reader"] == (1, 1, 1)
# claim: a-costly-value-is-stored-on-a-cpu
assert made["sigmoid_read_twice"][:2] == (2, 3)
# claim: for-a-gpu-it-is-computed-twice
assert made["sigmoid_read_twice"][2] == 2
# claim: few-reads-are-done-again
assert made["three_reads"] == (2, 2, 2)
# claim: many-reads-are-stored
assert made["ten_reads"] == (2, 3, 3)
# claim: very-many-reads-are-stored-for-one-reader
assert min(made["twenty_reads_one_reader"][1:]) > 1
# claim: one-kernel-in-the-end
assert all(row[4:] == (1, 1) for row in rows)

columns = ("function", "results", "nodes, CPU", "nodes, H200", "kernels, CPU", "kernels, H200")
tclab.show(tclab.Table("Values with memory of their own", "nodes", columns, rows))
