"""A Triton kernel, compiled for an H200 on a machine without one.

Compiling needs no GPU, only launching does. So this page's machine can take a kernel through
every stage: Triton IR, TritonGPU IR (which thread holds which elements), LLVM IR, PTX, and the
SASS instructions that a compute capability 9.0 chip such as the H200 executes.
"""
# tclab: needs=triton timeout=120

import re

import triton
import triton.language as tl
from _machine_code import stages
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


source = ASTSource(
    scale_add,
    {"x_ptr": "*fp32", "y_ptr": "*fp32", "out_ptr": "*fp32", "n": "i32", "BLOCK": "constexpr"},
    constexprs={"BLOCK": 1024},
    attrs={(i,): [["tt.divisibility", 16]] for i in range(4)},  # 16-byte aligned, as torch makes
)
h200 = GPUTarget("cuda", 90, 32)  # compute capability 9.0, warps of 32 threads
kernel = triton.compile(source, target=h200, options={"num_warps": 4})
listings = stages(kernel.asm, "snippets/triton/from_triton_to_machine_code.py")
sass = listings["sass"].code

loads = re.findall(r"LDG\.E\S*", sass)
# claim: blocks-as-values
assert len(re.findall(r"tt\.load", listings["ttir"].code)) == 2
assert "tensor<1024xf32>" in listings["ttir"].code
# claim: a-layout-gives-a-thread-four
assert "sizePerThread = [4]" in listings["ttgir"].code
# claim: threads-come-with-the-layout
assert "thread" not in listings["ttir"].code.lower()
assert len(re.findall(r"tt\.load", listings["ttgir"].code)) == 2
# claim: then-one-threads-view
assert all("tid.x" in listings[stage].code for stage in ("llir", "ptx"))
assert not any("tid.x" in listings[stage].code for stage in ("ttir", "ttgir"))
# claim: a-mask-guards-a-load
assert re.search(r"@%p\d+ ld\.global\.v4", listings["ptx"].code)
# claim: four-elements-are-one-load
assert loads == ["LDG.E.128"] * 4  # two inputs, eight elements of each a thread
# claim: multiply-and-add-are-one
assert len(re.findall(r"\bFFMA\b", sass)) == 8 and "FMUL" not in sass and "FADD" not in sass
# claim: an-instruction-is-skipped
assert re.search(r"@!?P\d+ (?:LDG|STG)", sass)
# claim: every-stage-leads-back-to-python
assert all(listing.links for listing in listings.values())

tclab.show(list(listings.values()))
rows = [(x.title, len(x.code.splitlines()), len(x.links)) for x in listings.values()]
tclab.show(
    tclab.Table(
        title="The stages", columns=("stage", "lines", "lines with a known Python line"), rows=rows
    )
)
elements = 1024 // (4 * 32)
tclab.show(
    f"1024 elements over 4 warps of 32 threads are {elements} elements a thread: "
    f"{len(loads)} loads of 16 bytes for two inputs, 8 FFMA instructions.",
    name="count",
)
