"""Multiply and add in a kernel for a GPU: one instruction, or two.

The kernel is made for an H200 that need not be here. Triton contracts the product and the sum into
one instruction that rounds once, unless eager's numerics are asked for.
"""
# tclab: needs=triton timeout=180

import torch

import tclab


def multiply_add(a, b, c):
    return a * b + c


def one_operation(a, b, c):
    return torch.addcmul(c, a, b)


def instructions(fn=multiply_add, **options):
    """The PTX instructions that calculate, in order."""
    c = tclab.capture(fn, target="h200", options=options)(*torch.randn(3, 4096))
    (kernel,) = c.compile_kernels()
    lines = kernel.stages["ptx"].code.splitlines()
    words = [line.split()[0] for line in lines if line.split()]
    return [
        word
        for word in words
        if word.startswith(("fma.", "mul.f", "mul.rn.f", "add.f", "add.rn.f"))
    ]


ways = {
    "by default": instructions(),
    "emulate_precision_casts": instructions(emulate_precision_casts=True),
    "the same, addcmul": instructions(one_operation, emulate_precision_casts=True),
}
kinds = {way: sorted(set(words)) for way, words in ways.items()}
tclab.show(
    tclab.Table(
        title="What calculates a * b + c",
        name="instructions",
        columns=("option", "instructions of PTX", "how many"),
        rows=[(way, ", ".join(kinds[way]), len(ways[way])) for way in ways],
    )
)

# claim: one-instruction-by-default
assert kinds["by default"] == ["fma.rn.f32"]
# claim: two-when-eager-is-emulated
assert len(ways["emulate_precision_casts"]) == 2 * len(ways["by default"])
assert not any(word.startswith("fma") for word in ways["emulate_precision_casts"])
# claim: as-one-operation-it-stays
assert kinds["the same, addcmul"] == ["fma.rn.f32"]
