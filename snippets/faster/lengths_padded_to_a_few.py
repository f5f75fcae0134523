"""Forty requests of different lengths: how many compiles, and how much is computed.

As they come, with a symbol for the length, and padded to the next of a few lengths. CUDA graphs and
autotuning want fixed sizes, so padding is a way to have them.
"""

import random

import torch
from torch._dynamo.testing import CompileCounter

import tclab

LONGEST = 128


def f(x):
    return x.softmax(-1) + 1


def padded(length, to):
    """The next length of the few."""
    return next(size for size in to if size >= length)


def served(lengths, **options):
    """Compiles, and elements computed, of the calls in turn."""
    torch._dynamo.reset()
    counter = CompileCounter()
    fn = torch.compile(f, backend=counter, **options)
    for length in lengths:
        fn(torch.ones(length))
    return counter.frame_count, sum(lengths)


random.seed(0)
lengths = [random.randint(2, LONGEST) for _ in range(40)]
few = [padded(length, (16, 32, 64, LONGEST)) for length in lengths]
torch._dynamo.config.recompile_limit = 100
rows = {
    "as they come, dynamic=False": served(lengths, dynamic=False),
    "as they come": served(lengths),
    "dynamic=True": served(lengths, dynamic=True),
    "padded to four, dynamic=False": served(few, dynamic=False),
    "padded to the longest": served([LONGEST] * len(lengths)),
    "padded to four": served(few),
}
exact = sum(lengths)
tclab.show(
    tclab.Table(
        title="Forty requests",
        name="requests",
        columns=("lengths", "compiles", "elements computed"),
        units=("", "", "% of what was asked"),
        formats=("", "d", ".0f"),
        rows=[(way, compiles, 100 * n / exact) for way, (compiles, n) in rows.items()],
    )
)
counts = [compiles for compiles, _ in rows.values()]

# claim: fixed-sizes-compile-for-each
assert counts[0] == len(set(lengths)) > 20
# claim: a-symbol-needs-two
assert counts[1] == 2
# claim: or-one
assert counts[2] == 1
# claim: padding-needs-one-for-each-length
assert counts[3] == len(set(few)) == 4
# claim: padding-to-the-longest-needs-one
assert counts[4] == 1
# claim: padding-alone-fixes-no-size
assert counts[5] == counts[1] == 2 < len(set(few))
# claim: padding-computes-more
assert exact < rows["padded to four, dynamic=False"][1] < rows["padded to the longest"][1]
