"""Where only timing decides, one way is shown, and the other on request.

Ten classes make a last layer whose sizes are not aligned. Inductor may pad it, and would time
on the GPU whether that is faster. What both ways have is exact, the rest is open.
"""
# tclab: needs=triton

import torch
from torch import nn
from torch._inductor.analysis.device_info import lookup_device_info
from torch._inductor.fx_passes.pad_mm import get_alignment_size_dtype

import tclab
from tclab import targets

body, head = nn.Linear(64, 64), nn.Linear(64, 10)


def classify(x):
    return head(torch.relu(body(x))).softmax(-1)


def way(kernel):
    """The answer that a kernel is of, such as pad=yes; or that it is exact."""
    return ", ".join({str(timed) for timed in kernel.facts.open}) or "exact"


x = torch.randn(8, 64)
likely = tclab.capture(classify, target="h200")(x)
c = tclab.capture(classify, target="h200", assume={"pad": "both"})(x)
tclab.show(tclab.Table(
    title="Kernels and calls", name="kernels", columns=("kernel or call", "is"),
    rows=[(k.kernel_name, way(k)) for k in c.kernels],
    caption=str(c.timed[0]),
))  # fmt: skip

# claim: the-result-is-the-cpus
assert torch.equal(c.result, classify(x)) and c.result.device.type == "cpu"

triton = [k for k in c.kernels if k.category != "extern"]
exact = [k for k in triton if way(k) == "exact"]
# claim: some-are-exact-either-way
assert exact
# claim: padding-adds-kernels
assert any(way(k) == "pad=yes" for k in triton)

fixed = tclab.capture(classify, target="h200", assume={"pad": "no"})(x)
# claim: an-assumption-shows-one-way
assert not fixed.timed and all(way(k) == "exact" for k in fixed.kernels)
names, unpadded = ([k.kernel_name for k in each.kernels] for each in (likely, fixed))
# claim: the-way-without-padding-is-shown
assert names == unpadded and likely.overview == fixed.overview == c.overview
# claim: the-others-are-open
assert {way(k) for k in likely.kernels} == {"exact", "pad=no"}

trained = tclab.capture(classify, target="h200", backward=True)(x)
# claim: gradients-are-not-asked-for
assert len(likely.timed) == 1 and len(trained.timed) > 1

aligned = tclab.capture(lambda x, w: x @ w, target="h200")(torch.randn(8, 64), torch.randn(64, 8))
# claim: aligned-products-are-not-timed
assert not aligned.timed

aligned_to = [get_alignment_size_dtype(dtype) for dtype in (torch.float32, torch.bfloat16)]
# claim: to-four-or-eight
assert aligned_to == [4, 8]
devices = {target.device for target in targets.TARGETS.values()}
listed = [device for device in devices if lookup_device_info(device)]
# claim: few-of-these-devices-are-in-the-table
assert len(listed) < len(devices) / 2
