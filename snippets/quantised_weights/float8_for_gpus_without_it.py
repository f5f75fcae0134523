"""A cast to float8 for GPUs that have the type in hardware, and for one that has not.

`float8_e4m3fn` is one of Triton's types from compute capability 8.9 on; an A100 is 8.0. The kernels
are what Inductor writes for a GPU that is not here: none was compiled further, or run.
"""
# tclab: needs=triton timeout=180

import torch

import tclab


def cast(x, dtype):
    return (x * 2).to(dtype).float() + 1


def written(target, dtype):
    """Kernels of Inductor's, and whether the cast is a call of eager's."""
    kernels = tclab.capture(cast, target=target)(torch.ones(256), dtype).kernels
    calls = [k.kernel_name for k in kernels if k.category == "extern"]
    return len(kernels) - len(calls), any("convert_element_type" in name for name in calls)


GPUS = {"a100": "8.0", "rtx4090": "8.9", "h200": "9.0"}
TYPES = (torch.float8_e4m3fn, torch.float8_e5m2)
table = {gpu: [written(gpu, dtype) for dtype in TYPES] for gpu in GPUS}
rows = []
for gpu, found in table.items():
    cells = [f"{n} kernel{'s' * (n > 1)}{', casts called' * called}" for n, called in found]
    rows.append((gpu, GPUS[gpu], *cells))
columns = ("GPU", "capability", *(str(dtype).removeprefix("torch.") for dtype in TYPES))
tclab.show(tclab.Table("A cast to float8 and back", "casts", columns, rows))

# claim: with-the-type-it-is-one-kernel
assert table["rtx4090"] == table["h200"] == [(1, False), (1, False)]
# claim: e5m2-is-one-kernel-everywhere
assert all(found[1] == (1, False) for found in table.values())
from_2_13 = tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 13)
# claim: an-a100-calls-eagers-cast
assert table["a100"][0] == ((2, True) if from_2_13 else (1, False))
