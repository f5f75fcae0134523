"""A layer with int8 weights on a GPU: where the weight becomes bfloat16 again decides its speed.

8,192 by 8,192, no bias, the weight as int8 with a scale a row. `kernels` are the generated ones and
the library's calls of a call; x has two dimensions, or three. Times are of replays of a CUDA graph
over several layers of their own, so that no weight is found in the cache. Errors are against
float64.
"""
# tclab: needs=cuda,triton alone=true timeout=500 memory=32768

import statistics

import torch
from torch.nn.functional import linear

import tclab

WIDTH, LAYERS = 8192, 4


def bfloat16(x, weight, scale):
    return linear(x, weight)


def int8(x, weight, scale):
    return linear(x, weight.to(x.dtype)) * scale


OPTION, SHAPE = "coordinate_descent_tuning", "three dimensions"
WAYS = [(bfloat16, ""), (int8, ""), (int8, SHAPE), (int8, OPTION), (int8, "max_autotune")]


def microseconds(fn, x, layers):
    """Of one layer."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for layer in layers:
            fn(x, *layer)
    taken = []
    for _ in range(15):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        taken.append(1e3 * begin.elapsed_time(end) / len(layers))
    return statistics.median(taken)


def quantised(weight):
    scale = weight.abs().amax(1) / 127
    return (weight / scale[:, None]).round().to(torch.int8), scale.bfloat16()


torch.manual_seed(0)
torch.set_grad_enabled(False)
plain = [torch.randn(WIDTH, WIDTH, device="cuda") * 0.02 for _ in range(LAYERS)]
small = [quantised(weight) for weight in plain]
wide = [(weight.bfloat16(), None) for weight in plain]
rows, off = [], []
for batch in (1, 16, 256):
    x = torch.randn(batch, WIDTH, device="cuda", dtype=torch.bfloat16)
    for fn, more in WAYS:
        layers = wide if fn is bfloat16 else small
        weight, scale = layers[0]
        exact = x.double() @ weight.double().T * (1 if scale is None else scale.double())
        torch._dynamo.reset()
        with tclab.capture() as c:
            options = {more: True} if more and more != SHAPE else None
            compiled = torch.compile(fn, options=options, dynamic=False)
            given = x[None] if more == SHAPE else x
            result = compiled(given, *layers[0]).view(batch, WIDTH)
        off.append(((result.double() - exact).norm() / exact.norm()).item())
        for layer in layers:
            compiled(given, *layer)
        torch.cuda.synchronize()
        taken = microseconds(compiled, given, layers)
        names = [kernel.kernel_name for kernel in c.kernels]
        way = f"{fn.__name__}, {more}" if more else fn.__name__
        rows.append((batch, way, taken, weight.nbytes / taken / 1e6, ", ".join(names)))
tclab.show(tclab.Table(
    title="One layer, 8,192 by 8,192", name="layers",
    columns=("rows of x", "way", "time", "of the weight", "kernels"),
    units=("", "", "µs", "TB/s", ""), formats=("d", "", ".1f", ".2f", ""), rows=rows,
))  # fmt: skip

times = {row[:2]: row[2] for row in rows}
kernels = {row[:2]: row[-1].split(", ") for row in rows}
# claim: all-are-right
assert max(off) < 2e-2, off
# claim: by-default-the-weight-is-written-out-first
assert all("to_copy" in kernels[n, "int8"][0] and "mm" in kernels[n, "int8"][1]
           for n in (1, 16, 256)), kernels  # fmt: skip
# claim: so-it-is-slower-than-bfloat16
assert all(times[n, "int8"] > 1.2 * times[n, "bfloat16"] for n in (1, 16)), times
# claim: of-three-dimensions-it-is-the-librarys
assert all("_weight_int8pack_mm" in kernels[n, f"int8, {SHAPE}"][0] for n in (1, 16)), kernels
# claim: for-one-row-an-option-fuses-it
assert len(kernels[1, f"int8, {OPTION}"]) == 1, kernels
# claim: and-it-is-faster
assert times[1, f"int8, {OPTION}"] < 0.9 * times[1, "bfloat16"], times
