"""An operator without a meta kernel, for a GPU that is not there.

PyTorch runs it on the GPU to learn what it returns. A target asks the CPU's kernel, shows the
kernels around it, and says so.
"""
# tclab: needs=triton

import torch

import tclab


def f(x):
    reflectors, scales = torch.geqrf(torch.relu(x) + 1)
    return reflectors * 2 + scales


c = tclab.capture(f, target="h200")(torch.randn(8, 8))
generated = [k.kernel_name for k in c.kernels if k.category != "extern"]
# claim: the-kernels-around-it-are-shown
assert generated == ["triton_poi_fused_add_relu_0", "triton_poi_fused_add_mul_1"]
reflectors, _ = torch.geqrf(torch.ones(8, 8))
layout = f"{tuple(reflectors.shape)}, {reflectors.stride()}, "
checks = [line for line in c.wrapper[0].code.splitlines() if "'torch.ops.aten.geqrf" in line]
# claim: its-results-have-the-strides-of-the-cpu
assert reflectors.stride() == (1, 8) and any(layout in check for check in checks)
(gap,) = c.gaps
# claim: it-is-named
assert gap.place.startswith("aten.geqrf.default, ") and "no meta kernel" in gap.cause
tclab.show(tclab.Table("What is not known", "gaps", ("where", "why"), [(gap.place, gap.cause)]))
