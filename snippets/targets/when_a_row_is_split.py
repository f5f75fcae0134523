"""When a row is split, for three GPUs.

A sum over 64 rows, fewer than any of these GPUs has multiprocessors. A row of 8192 elements is left
whole on all of them, and so is a single one. A longer row is split, so that more programs have
work. Where the compute capability is 10 that limit is higher, and how high depends on the version:
524,288 elements with PyTorch 2.13, fewer with 2.15. An `argmax` of the longer row, and a sum of
rows that lie across the memory, follow other rules.
"""
# tclab: needs=triton timeout=240

import torch

import tclab

GPUS = ("a100", "h200", "b200")


def row_sums(x):
    return x.sum(-1)


rows, kernels = [], {}
for count, columns in ((1, 8_192), (64, 8_192), (64, 8_704), (64, 524_288), (64, 524_800)):
    x = torch.empty(count, columns, dtype=torch.bfloat16)
    for gpu in GPUS:
        c = tclab.capture(row_sums, target=gpu, dynamic=False)(x)
        kernels[count, columns, gpu] = len(c.kernels)
    rows.append((count, f"{columns:,d}", *(kernels[count, columns, gpu] for gpu in GPUS)))

largest = tclab.capture(lambda x: x.argmax(-1), target="h200")(torch.empty(64, 8_704)).kernels
across = tclab.capture(row_sums, target="h200")(torch.empty(8_192, 64).t()).kernels
# claim: not-every-reduction
assert len(largest) == 1 and len(across) == 2
# claim: a-short-row-is-left-whole
assert {kernels[count, 8_192, gpu] for count in (1, 64) for gpu in GPUS} == {1}
# claim: a-longer-one-is-split
assert kernels[64, 8_704, "a100"] == kernels[64, 8_704, "h200"] == 2
version = tuple(map(int, torch.__version__.split(".")[:2]))
if version >= (2, 13):
    # claim: later-with-capability-10, torch >= 2.13
    assert kernels[64, 8_704, "b200"] == 1 and kernels[64, 524_800, "b200"] == 2
if version == (2, 13):
    # claim: the-limit-is-524288, torch == 2.13
    assert kernels[64, 524_288, "b200"] == 1 and kernels[64, 524_800, "b200"] == 2

columns = ("rows", "elements in a row", *GPUS)
tclab.show(tclab.Table("Kernels for the sum", "kernels", columns, rows))
