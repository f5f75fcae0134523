"""When a row is split, for three GPUs.

A sum over 64 rows, fewer than any of these GPUs has multiprocessors. A row of 8192 elements is left
whole on all of them. A longer one is split, so that more programs have work, except where the
compute capability is 10: there only from 524,288 elements on.
"""
# tclab: needs=triton timeout=240

import torch

import tclab

GPUS = ("a100", "h200", "b200")


def row_sums(x):
    return x.sum(-1)


rows, kernels = [], {}
for columns in (8_192, 16_384, 1_048_576):
    x = torch.empty(64, columns, dtype=torch.bfloat16)
    for gpu in GPUS:
        kernels[columns, gpu] = len(tclab.capture(row_sums, target=gpu, dynamic=False)(x).kernels)
    rows.append((f"{columns:,d}", *(kernels[columns, gpu] for gpu in GPUS)))

# claim: a-short-row-is-left-whole
assert [kernels[8_192, gpu] for gpu in GPUS] == [1, 1, 1]
# claim: a-longer-one-is-split
assert kernels[16_384, "a100"] == kernels[16_384, "h200"] == 2
# claim: later-with-capability-10, torch >= 2.13
assert kernels[16_384, "b200"] == 1 and kernels[1_048_576, "b200"] == 2

tclab.show(tclab.Table("Kernels for the sum", "kernels", ("elements in a row", *GPUS), rows))
