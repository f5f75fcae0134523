"""A block compiled as a trainer and as servers call it: whether the outputs have the same bits.

The trainer calls it with gradients, 32 rows at a time, with one thread. Each server is compiled
anew, with one thing changed; it calculates the trainer's rows, or the first of them.
"""
# tclab: needs=cxx timeout=180

import torch
import torch._inductor.config  # torch does not import it by itself
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


def served(rows=32, mode=torch.no_grad, threads=1, **options):
    """Whether the outputs are the trainer's, bit for bit; and the largest relative difference."""
    torch._dynamo.reset()
    torch.set_num_threads(threads)
    with mode(), torch._inductor.config.patch(options):
        outputs = torch.compile(block)(x[:rows].clone())
    torch.set_num_threads(1)
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
    "inference_mode": served(mode=torch.inference_mode),
    "one row at a time": served(rows=1),
    "freezing": served(freezing=True),
}
same = {name: equal for name, (equal, _) in SERVERS.items()}
# claim: a-second-call-has-the-same-bits
assert all(map(torch.equal, trained, again))
# claim: without-gradients-it-has-the-trainers-bits
assert same["no_grad"] and same["inference_mode"]
# claim: eager-has-others
assert not all(map(torch.equal, trained, eager))
# claim: one-row-has-others
assert not same["one row at a time"]
# claim: frozen-it-has-others
assert not same["freezing"]
# claim: they-are-roundings-apart
assert max(gap for _, gap in SERVERS.values()) < 1e-3
tclab.show(
    tclab.Table("Servers against the trainer", "servers",
                ("server", "the trainer's bits", "largest relative difference"),
                [(name, *found) for name, found in SERVERS.items()], formats=("", "", ".0e"))
)  # fmt: skip


def sums(x):
    return x.sum(), x.sum(0), x.sum(1)


def by_threads(number):
    """The sums, eager and compiled, with so many threads."""
    torch.set_num_threads(number)
    torch._dynamo.reset()
    return sums(long), torch.compile(sums)(long)


long = torch.randn(5000, 64)
(eager_one, one), (eager_two, two) = by_threads(1), by_threads(2)
rows = [("eager", *map(torch.equal, eager_one, eager_two)),
        ("compiled", *map(torch.equal, one, two))]  # fmt: skip
by_eager, by_compiled = (row[1:] for row in rows)
columns = ("sums with one thread and with two", "of all", "of columns", "of rows")
tclab.show(tclab.Table("The same bits with another number of threads", "threads", columns, rows))
# claim: a-sum-of-all-differs-by-threads-in-eager-too
assert not by_eager[0] and not by_compiled[0]
# claim: a-sum-of-columns-only-compiled
assert by_eager[1] and not by_compiled[1]
# claim: a-sum-of-each-row-does-not
assert by_eager[2] and by_compiled[2]
