"""Aligned or not: the same kernel with 16-byte and with 4-byte loads.

Triton may only use wide loads where it knows that addresses are multiples of 16 bytes. It learns
that from the arguments: PyTorch's allocator aligns tensors, a slice such as `x[1:]` does not.
Inductor passes the same facts on, in `triton_meta` above every generated kernel.
"""
# tclab: needs=triton timeout=120

import re
from collections import Counter

import triton
import triton.language as tl
from _machine_code import disassemble
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

import tclab


@triton.jit
def scale_add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, 2.0 * x + y, mask=mask)


def memory_instructions(aligned, block):
    """Loads and stores in the SASS for an H200, when `aligned` arguments divide by 16."""
    signature = {"x_ptr": "*fp32", "y_ptr": "*fp32", "out_ptr": "*fp32", "n": "i32"}
    attrs = {(i,): [["tt.divisibility", 16]] for i in aligned}
    source = ASTSource(scale_add, signature | {"BLOCK": "constexpr"}, {"BLOCK": block}, attrs)
    kernel = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": 4})
    return Counter(re.findall(r"\b(?:LDG|STG)\.E\S*", disassemble(kernel.asm["cubin"])))


cases = {
    "all pointers and n": (0, 1, 2, 3),
    "pointers, not n": (0, 1, 2),
    "not x": (1, 2, 3),
    "nothing": (),
}
found = {name: memory_instructions(aligned, 1024) for name, aligned in cases.items()}
# claim: aligned-loads-are-wide
assert found["all pointers and n"] == {"LDG.E.128": 4, "STG.E.128": 2}
# claim: unaligned-loads-are-narrow
assert found["nothing"] == {"LDG.E": 16, "STG.E": 8}
# claim: each-pointer-for-itself
assert found["not x"]["LDG.E"] == 8 and found["not x"]["LDG.E.128"] == 2
# The mask is `offsets < n`: if n may cut a group of four, its lanes need loads of their own.
# claim: the-mask-counts-too
assert "LDG.E.128" not in found["pointers, not n"]

kinds = ("LDG.E.128", "LDG.E", "STG.E.128", "STG.E")
tclab.show(
    tclab.Table(
        title="Memory instructions of one thread",
        columns=("known to divide by 16", *kinds, "all"),
        rows=[(name, *(f.get(k, 0) for k in kinds), sum(f.values())) for name, f in found.items()],
        caption="sm_90, 1024 float32 elements a program, 4 warps",
    ),
    name="instructions",
)
