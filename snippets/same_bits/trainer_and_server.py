"""A block compiled as a trainer and as servers call it: whether the outputs have the same bits.

The trainer calls it with gradients, 32 rows at a time, with one thread. Each server is compiled
anew, with one thing changed; it calculates the trainer's rows, or the first of them.
"""
# tclab: needs=cxx timeout=180

import torch
from torch.nn import functional as F

import tclab


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = torch.nn.Linear(200, 300), torch.nn.Linear(300, 200)
        self.norm = torch.nn.LayerNorm(300)

    def forward(self, x):
        y = self.last(self.norm(F.gelu(self.first(x))))
        return (x + y).softmax(-1), (y * y).mean(-1)


def served(rows=32):
    """Whether the outputs are the trainer's, bit for bit; and the largest relative difference."""
    torch._dynamo.reset()
    with torch.no_grad():
        outputs = torch.compile(block)(x[:rows].clone())
    pairs = [*zip(outputs, trained)]
    gap = max(((a - b[:rows]) / b[:rows]).abs().max().item() for a, b in pairs)
    return all(torch.equal(a, b[:rows]) for a, b in pairs), gap


torch.set_num_threads(1)
torch.manual_seed(0)
block, x = Block(), torch.randn(32, 200)
compiled = torch.compile(block)
trained = [output.detach() for output in compiled(x)]
again = [output.detach() for output in compiled(x)]
with torch.no_grad():
    eager = block(x)
SERVERS = {
    "no_grad": served(),
    "one row at a time": served(rows=1),
}
same = {name: equal for name, (equal, _) in SERVERS.items()}
# claim: a-second-call-has-the-same-bits
assert all(map(torch.equal, trained, again))
# claim: without-gradients-it-has-the-trainers-bits
assert same["no_grad"]
# claim: eager-has-others
assert not all(map(torch.equal, trained, eager))
# claim: one-row-has-others
assert not same["one row at a time"]
# claim: they-are-roundings-apart
assert max(gap for _, gap in SERVERS.values()) < 1e-3
tclab.show(
    tclab.Table("Servers against the trainer", "servers",
                ("server", "the trainer's bits", "largest relative difference"),
                [(name, *found) for name, found in SERVERS.items()], formats=("", "", ".0e"))
)  # fmt: skip


def sums(x):
    return x.sum(), x.sum(1)


def by_threads(number):
    """The sums of each table, eager and compiled, with so many threads."""
    torch.set_num_threads(number)
    torch._dynamo.reset()
    return [[*zip(*map(call, tables))] for call in (sums, torch.compile(sums))]


tables = torch.randn(8, 1000, 64)
rows = []
for how, one, two in zip(("eager", "compiled"), by_threads(1), by_threads(2)):
    rows.append((how, *(all(map(torch.equal, *pair)) for pair in zip(one, two))))
columns = ("eight tables, with one thread and with two", "sums of all", "sums of rows")
tclab.show(tclab.Table("The same bits with another number of threads", "threads", columns, rows))
(_, by_eager, _), (_, by_compiled, _) = rows
# claim: eagers-sums-of-all-differ-by-threads
assert not by_eager
if tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 13):
    # claim: so-do-the-compiled-ones, torch >= 2.13
    assert not by_compiled
# claim: a-sum-of-each-row-does-not
assert all(of_rows for *_, of_rows in rows)
