"""The kernels of the benchmarks that make no products, at each of their sizes for a GPU.

They are what Inductor writes for an H200, made on a machine without one, by the PyTorch that
built this page. The configuration is the first of those that the GPU would choose among. A load
is the widest one from memory in the machine code.
"""
# tclab: needs=triton timeout=600 memory=12288

import re
from dataclasses import replace

import torch

import tclab
from tclab.model import Configuration, KernelFacts
from tclab.workshop.bench.sizes import KERNELS
from tclab.workshop.catalog.functions import kernels

PRODUCTS = ("matmul_bias_gelu", "matmul_fp8", "attention")


def empty(device, *shape, grad=False):
    """The shape is compiled for; the numbers are never looked at."""
    return torch.empty(shape, dtype=torch.bfloat16, requires_grad=grad)


def compiled(name, size):
    """What the function goes through for the card, its backward in training, too."""
    torch._dynamo.reset()
    subject = getattr(kernels, name)("cpu", **size)
    function, arguments = subject.call()
    with torch.set_grad_enabled(subject.grad):
        return tclab.capture(function, target="h200", backward=subject.grad)(*arguments)


def widest_load(sass):
    """In bits; None where nothing is loaded."""
    loads = re.findall(r"\bLDG(?:STS)?\.[\w.]+", sass)  # LDG.E.EF.64, LDG.E.U16, LDGSTS.E.128
    sizes = (re.search(r"\.[US]?(8|16|64|128)$", load) for load in loads)
    return max((int(size[1]) if size else 32 for size in sizes), default=None)


kernels.random, rows, instructions = empty, [], {}
for name in (name for name in KERNELS if name not in PRODUCTS):
    for label, size in KERNELS[name].sizes["gpu"].items():
        c, of = compiled(name, size), f"{name.replace('_', ' ')}, {label}"
        machine_code = {kernel.name: kernel for kernel in c.compile_kernels()}
        for number, kernel in enumerate(c.kernels, 1):
            code = machine_code[kernel.kernel_name]
            taken = replace(code.resources, shared=None, stack=None)
            facts = KernelFacts(configuration=Configuration(code.candidates[0]), resources=taken)
            title = f"{of}, kernel {number} of {len(c.kernels)}"
            shown = replace(kernel, title=title, facts=facts, device="", source_lines=())
            tclab.show(shown, name=f"{name}-{label}-{number}")
            used = taken.registers, round(taken.occupancy.share * 100)
            instructions[name] = code.stages["sass"].code  # of its last kernel
            load = widest_load(instructions[name])
            rows.append((name, label, number, kernel.category, *used, load))

columns = ("function", "size", "kernel", "category", "registers", "occupancy", "load")
units = ("", "", "", "", "a thread", "%", "bits")
title = "Every kernel under the roof, without products"
words = [[c.replace("_", " ") if isinstance(c, str) else c for c in row] for row in rows]
tclab.show(tclab.Table(title, "kernels", columns, words, units))

assert {row[0] for row in rows} == KERNELS.keys() - set(PRODUCTS)
ROWS = "softmax", "layer_norm", "rms_norm"
of_rows = {(row[1], row[3]) for row in rows if row[0] in ROWS}
# claim: long-rows-are-looped
assert of_rows == {("16384x8192", "reduction"), ("4096x1024", "persistent_reduction")}
TWICE = "pointwise_chain", "bias_gelu", "swiglu", "rotary"
of_each = {name: [row[3:] for row in rows if row[0] == name] for name in TWICE}
# claim: pointwise-needs-the-same-at-each-size
assert all(len(pair) == 2 and pair[0] == pair[1] for pair in of_each.values())
most = sorted(rows, key=lambda row: row[4])[-2:]
# claim: the-backwards-of-norms-need-the-most-registers
assert {row[0] for row in most} == {"layer_norm_training", "rms_norm_training"}
fewest = min(row[5] for row in rows)
# claim: and-the-fewest-warps-fit
assert {row[:3] for row in rows if row[5] == fewest} == {row[:3] for row in most}
# claim: two-kernels-load-two-bytes-at-a-time
assert {row[:3] for row in rows if row[6] and row[6] <= 16} == {
    ("full_norm", "16384x8192", 1), ("row_sum", "1048576x64", 1)
}  # fmt: skip
# claim: an-atomic-adds-four-numbers
assert re.search(r"\bRED\w*\.E\.ADD\.F32x4\b", instructions["scatter_add"])
