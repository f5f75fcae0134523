"""A size that is a symbol: whether its loop is shared among threads.

A kernel is written once for all sizes, and shared where the size that it is compiled with is large
enough. Each row is one function called with two or three sizes.
"""
# tclab: needs=cxx timeout=180

import torch

import tclab

SMALL, LARGE = 64, 1_000_000
torch.set_num_threads(2)


def f(x):
    return x.sin() + 1


def shared(sizes, **options):
    """Of each kernel, whether its loop is shared; the results are those of eager."""
    calls = [(torch.rand(size),) for size in sizes]
    c = tclab.capture(f, **options).over(calls)
    for (x,), result in zip(calls, c.results):
        torch.testing.assert_close(result, f(x))
    return ["#pragma omp" in kernel.code for kernel in c.kernels]


CASES = {
    "small first": ((SMALL, LARGE), {"dynamic": True}),
    "large first": ((LARGE, SMALL), {"dynamic": True}),
    "two small ones first": ((SMALL, SMALL + 1, LARGE), {}),
}
found = {name: shared(sizes, **options) for name, (sizes, options) in CASES.items()}
rows = [
    (name, ", ".join(f"{size:,}" for size in CASES[name][0]), str(CASES[name][1] or "none"),
     ", ".join("shared" if each else "one thread" for each in kernels))
    for name, kernels in found.items()
]  # fmt: skip
columns = ("what comes first", "sizes", "options", "kernels")
tclab.show(tclab.Table("Kernels of a symbolic size", "kernels", columns, rows))

# claim: a-small-size-first-and-none-is-shared
assert found["small first"] == [False] and found["two small ones first"] == [False, False]
# claim: a-large-size-first-and-each-is-shared
assert found["large first"] == [True]
