"""What create_block_mask makes on its way: as it is, and compiled.

Its operations are counted by a mode that sees each one. Compiled, it is captured for an H200, and
the tensors are those that the output code allocates.
"""
# tclab: needs=triton timeout=240

import re
from math import prod

import torch
from torch.nn.attention.flex_attention import create_block_mask
from torch.utils._python_dispatch import TorchDispatchMode

import tclab

WIDTH = {"bool": 1, "int8": 1, "int32": 4, "int64": 8, "float32": 4}


class Counted(TorchDispatchMode):
    operations, largest = 0, 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        self.operations += 1
        if isinstance(result, torch.Tensor):
            self.largest = max(self.largest, result.nbytes)
        return result


def causal(batch, head, query, key):
    return query >= key


def blocks(anything, length):
    return create_block_mask(causal, None, None, length, length, device=anything.device)


def counts(anything, length):
    mask = blocks(anything, length)
    return mask.kv_num_blocks, mask.kv_indices, mask.full_kv_num_blocks, mask.full_kv_indices


torch.set_grad_enabled(False)
rows = []
for length in (1024, 4096):
    anything = torch.zeros(1)
    with Counted() as seen:
        mask = blocks(anything, length)
    result = sum(t.nbytes for t in mask.as_tuple() if isinstance(t, torch.Tensor))
    c = tclab.capture(counts, target="h200")(anything, length)
    made = re.findall(r"empty_strided_cuda\(\(([\d, ]+)\), .*?torch\.(\w+)\)", c.wrapper[0].code)
    sizes = [prod(map(int, shape.strip(", ").split(", "))) * WIDTH[dtype] for shape, dtype in made]
    rows.append((length, seen.operations, seen.largest, len(c.kernels), max(sizes), result))
tclab.show(tclab.Table(
    title="A causal mask, made", name="made",
    columns=("length", "operations", "largest tensor", "kernels, compiled",
             "largest tensor, compiled", "the mask itself"),
    units=("", "", "bytes", "", "bytes", "bytes"), formats=("d",) * 6, rows=rows,
))  # fmt: skip
tclab.show(c.kernels[0], name="kernel")

# claim: as-it-is-it-makes-the-whole-matrix
assert all(largest >= length**2 for length, _, largest, *_ in rows), rows
# claim: compiled-it-is-a-few-kernels
assert all(operations > 50 and kernels <= 8 for _, operations, _, kernels, *_ in rows), rows
# claim: compiled-no-tensor-is-a-matrix
assert all(length**2 > 16 * largest for length, *_, largest, _ in rows), rows
# claim: the-mask-itself-is-small
assert all(length**2 > 50 * result for length, *_, result in rows), rows
