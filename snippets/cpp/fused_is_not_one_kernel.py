"""One C++ function can hold loops that did not fuse.

Inductor puts neighbouring loops into one C++ function to save calls. Count loops, not functions:
two results that share an input are one loop, two that share nothing are two loops in the same
function, and the data goes through memory as often as there are loops.
"""

import re

import torch

import tclab

N = 4096


def shared_input(x, y):
    return torch.sin(x), torch.cos(x)


def nothing_shared(x, y):
    return torch.sin(x), torch.cos(y)


def result_needed_whole(x, y):
    return x * x.sum()


x, y = torch.randn(N), torch.randn(N)
rows = []
for f in (shared_input, nothing_shared, result_needed_whole):
    c = tclab.capture(f, options={"cpp.threads": 1})(x, y)
    (kernel,) = c.kernels
    loops = len(re.findall(rf"for\(.*x0<static_cast<int64_t>\({N}L\)", kernel.code))
    rows.append((f.__name__, len(c.kernels), loops, len(kernel.code.splitlines())))
    tclab.show(kernel, title=f"Kernel of {f.__name__}", name=f.__name__)

# claim: one-function-each
assert [row[1] for row in rows] == [1, 1, 1]
# claim: a-shared-input-is-one-loop
assert rows[0][2] == 1
# claim: nothing-shared-is-two-loops
assert rows[1][2] == 2
# claim: a-result-needed-whole-is-two-loops
assert rows[2][2] == 2
columns = ("function", "C++ functions", "loops", "lines")
tclab.show(tclab.Table(title="Functions and loops", columns=columns, rows=rows))
