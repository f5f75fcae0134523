"""What the GPU would choose among, and by which rule.

Inductor gives a kernel one configuration or several, by a rule that looks at its kind and at its
sizes, rounded up to powers of two. Where there are several, the GPU times them. Without it all can
be compiled, and what each takes of a multiprocessor stands side by side.
"""
# tclab: needs=triton timeout=180

import torch

import tclab


def pointwise(x):
    return torch.relu(x + 1) * 2


def row_sum(x):
    return (x + 1).sum(-1)


calls = [(pointwise, (2**power,)) for power in (6, 12, 18, 24)]
calls += [(row_sum, (512, 512)), (row_sum, (4096, 65536))]
captures = [tclab.capture(fn, target="h200")(torch.zeros(shape)) for fn, shape in calls]
kernels = [c.compile_kernels()[0] for c in captures]
tclab.show(
    tclab.Table(
        title="Sizes and candidates",
        name="rule",
        columns=("function", "shape", "candidates"),
        rows=[
            (fn.__name__, " × ".join(map(str, shape)), "; ".join(map(str, kernel.candidates)))
            for (fn, shape), kernel in zip(calls, kernels)
        ],
    )
)
compared = [c.compile_candidates() for c in captures]
tclab.show(compared[1])

several = [kernel for kernel in kernels if len(kernel.candidates) > 1]
# claim: some-sizes-leave-no-choice
assert 0 < len(several) < len(kernels)
# claim: the-size-decides-the-candidates
assert len({kernel.candidates for kernel in kernels[:4]}) > 1
# claim: the-first-is-the-one-shown
assert all(k.configuration.config == k.candidates[0] for k in kernels)
# claim: every-candidate-is-compiled
assert [len(compiled) for compiled in compared] == [
    len(k.candidates) if k in several else 0 for k in kernels
]
# claim: with-registers-and-occupancy
assert all(c.resources.registers and c.resources.occupancy for each in compared for c in each)
