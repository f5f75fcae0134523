"""Two functions for four GPUs.

Both are compiled for an A100, an H200, a B200 and an L40S by one machine that has none of them.
The sum over rows is split where there are fewer than two rows for each multiprocessor; with PyTorch
2.13 not for the B200, whose limit is another. The pointwise kernel is the same Triton code for all
four; then Triton and the assembler go different ways.
"""
# tclab: needs=triton timeout=400 memory=6144

import re
from collections import Counter

import torch
import torch.nn.functional as F

import tclab
from tclab import targets

GPUS = {name: targets.get(name) for name in ("a100", "h200", "b200", "l40s")}
OPCODE = re.compile(r"/\*[0-9a-f]{4,5}\*/\s+(?:@!?U?P\w+\s+)?([A-Z]\w+[\w.]*)")


def row_sums(x):
    return x.sum(-1)


def bias_gelu(x, bias):
    return F.gelu(x + bias, approximate="tanh")


def body(kernel):
    """A kernel without its decorator, which names the device's properties."""
    return kernel.code[kernel.code.index("def triton_") :]


x = torch.randn(240, 100_000, dtype=torch.bfloat16)  # more rows than 2 × 108, fewer than 2 × 132
sums = {gpu: tclab.capture(row_sums, target=gpu)(x).kernels for gpu in GPUS}
shapes = {gpu: [re.findall(r"_?numel = (\d+)", k.code) for k in sums[gpu]] for gpu in GPUS}
# claim: enough-rows-for-an-a100
assert len(sums["a100"]) == 1 and 240 >= 2 * GPUS["a100"].sm_count
# claim: too-few-for-the-others
assert len(sums["h200"]) == len(sums["l40s"]) == 2 and 240 < 2 * GPUS["h200"].sm_count
if tuple(map(int, torch.__version__.split(".")[:2])) == (2, 13):
    # claim: a-b200-does-not-split, torch == 2.13
    assert len(sums["b200"]) == 1
    assert GPUS["b200"].sm_count == max(t.sm_count for t in GPUS.values())
    for gpu in ("rtx5090", "gb10"):
        at_the_limit, above = (torch.empty(64, n, dtype=torch.bfloat16) for n in (524_288, 524_800))
        # claim: capability-12-has-the-limit-of-10, torch == 2.13
        assert len(tclab.capture(row_sums, target=gpu)(at_the_limit).kernels) == 1
        assert len(tclab.capture(row_sums, target=gpu)(above).kernels) == 2
tclab.show(tclab.Table(
    title="Sum over the rows of [240, 100000]", name="row-sums",
    columns=("target", "multiprocessors", "kernels", "results × elements summed for each"),
    rows=[(gpu, t.sm_count, len(sums[gpu]), "; then ".join(" × ".join(s) for s in shapes[gpu]))
          for gpu, t in GPUS.items()],
))  # fmt: skip

x, bias = torch.randn(4096, 4096, dtype=torch.bfloat16), torch.randn(4096, dtype=torch.bfloat16)
made = {gpu: tclab.capture(bias_gelu, target=gpu)(x, bias) for gpu in GPUS}
# claim: the-same-triton-code
assert len({body(c.kernels[0]) for c in made.values()}) == 1
used, rows, stages = {}, [], []
for gpu, c in made.items():
    (kernel,) = c.compile_kernels()
    stages.append(set(kernel.stages))
    used[gpu] = Counter(OPCODE.findall(kernel.stages["sass"].code))
    del used[gpu]["NOP"]  # padding at the end
    ptx = re.findall(r"^\s+(?:@!?%p\d+ )?(\w+)[\w.:]* .*;", kernel.stages["ptx"].code, re.M)
    config, taken = kernel.configuration.config, kernel.resources
    sizes = taken.registers, taken.shared, len(ptx), used[gpu].total()
    rows.append((gpu, str(config), *sizes))
tclab.show(tclab.Table(
    title="GELU of a sum: one kernel on four GPUs", name="resources", rows=rows,
    columns=("target", "configuration", "registers", "shared memory", "PTX", "SASS"),
    units=("", "", "a thread", "bytes", "instructions", "instructions"),
))  # fmt: skip

every = sorted(set().union(*used.values()))
different = [op for op in every if len({u[op] for u in used.values()}) > 1]
# claim: each-has-all-its-stages
assert {"ttir", "ttgir", "llir", "ptx", "sass"} <= set.intersection(*stages)
assert all(c.graphs and c.wrapper for c in made.values())
# claim: other-instructions
assert different
if tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 13):
    # claim: blackwell-adds-two-at-once, torch >= 2.13
    assert used["b200"]["FADD2"] and not any(used[gpu]["FADD2"] for gpu in ("a100", "h200", "l40s"))
tclab.show(tclab.Table(
    title="Instructions that differ in number", name="instructions", columns=("SASS", *GPUS),
    rows=[(op, *(used[gpu][op] or None for gpu in GPUS)) for op in different],
))  # fmt: skip
