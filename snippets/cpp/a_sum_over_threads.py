"""A reduction: partial sums in vectors, in threads, then combined.

Each thread sums its share into a vector of its own; after the parallel part one loop adds the
threads' vectors, and the lanes of what remains are added last. Many short sums in place of one
long one: that is also why the result is closer to the exact sum than a running total would be.
"""

import torch

import tclab

N = 200_003


def f(x):
    return x.sum()


torch.manual_seed(0)
x = torch.rand(N)
c = tclab.capture(f, options={"cpp.threads": 4})(x)
(kernel,) = c.kernels
# claim: threads-share-one-loop
assert kernel.code.count("#pragma omp for") == 1
# claim: each-thread-has-an-accumulator
assert "tmp_acc0_vec_arr[4]" in kernel.code

exact = x.double().sum()
running = torch.zeros(())
for value in x:  # one float32 total, carried from element to element
    running += value
errors = {
    "compiled, vectors and 4 threads": c.result,
    "eager": f(x),
    "a running total": running,
}
rows = [(name, abs(value.double() - exact).item() / exact.item()) for name, value in errors.items()]
error = dict(rows)
# claim: closer-than-a-running-total
assert max(error["compiled, vectors and 4 threads"], error["eager"]) < error["a running total"] / 10
# claim: not-bit-for-bit-the-same
assert error["compiled, vectors and 4 threads"] != error["eager"]

tclab.show(kernel, name="kernel")
columns = ("way to sum", "relative error against float64")
tclab.show(
    tclab.Table(
        title="Order of a sum and its error", columns=columns, rows=rows, formats=("", ".1e")
    ),
    name="errors",
)
