"""What eager moves through memory, and what the compiled function moves.

Eager runs one operation at a time: each reads its inputs from memory and writes its result. A mode
that sees every operation adds up the bytes. The kernel that Inductor writes for an H200 is asked
the same: which tensors it loads, and which it stores.
"""
# tclab: needs=triton timeout=180

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

import tclab


def gate(x, bias):
    opened = torch.sigmoid(x + bias)
    return opened * x


class Traffic(TorchDispatchMode):
    """Notes each operation with the bytes it reads and writes."""

    def __init__(self):
        super().__init__()
        self.rows = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        read = sum(t.nbytes for t in args if isinstance(t, torch.Tensor))
        written = sum(t.nbytes for t in tree_leaves(result) if isinstance(t, torch.Tensor))
        self.rows.append((func.name().split(".")[0], read, written))
        return result


x, bias = torch.randn(4096, 1024), torch.randn(1024)
with Traffic() as eager:
    gate(x, bias)
(kernel,) = tclab.capture(gate, target="h200", dynamic=False)(x, bias).kernels
loads = {name: kernel.code.count(f"tl.load({name}") for name in ("in_ptr0", "in_ptr1")}
passes = sum(read + written for _, read, written in eager.rows) / x.nbytes
fused = ("the fused kernel", x.nbytes + bias.nbytes, x.nbytes)

# claim: eager-runs-one-operation-at-a-time
assert len(eager.rows) == 3
# claim: seven-passes
assert round(passes) == 7
# claim: one-kernel-two-passes
assert loads == {"in_ptr0": 1, "in_ptr1": 1} and kernel.code.count("tl.store(") == 1
# claim: eager-moves-more
assert passes > 3 * (fused[1] + fused[2]) / x.nbytes

tclab.show(tclab.Table(
    title="Bytes read and written", name="bytes", columns=("operation", "read", "written"),
    units=("", "bytes", "bytes"), formats=("", ",d", ",d"), rows=[*eager.rows, fused],
    caption=f"x is {x.nbytes:,d} bytes, bias {bias.nbytes:,d}.",
))  # fmt: skip
