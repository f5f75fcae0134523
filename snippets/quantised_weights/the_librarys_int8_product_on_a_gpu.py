"""The product that Inductor's pattern chooses for int8 weights, timed on a GPU.

8,192 by 8,192; x has three dimensions, 1 by rows by 8,192. Scaled after the product, the layer is
what the pattern fits; scaled before it, it is not. Times are of replays of a CUDA graph over
several layers of their own. Errors are against float64.
"""
# tclab: needs=cuda,triton alone=true timeout=300 memory=32768

import statistics

import torch
from torch.nn.functional import linear

import tclab

WIDTH, LAYERS, ROWS = 8192, 4, (1, 16, 256)


def bfloat16(x, weight, scale):
    return linear(x, weight)


def scaled_after(x, weight, scale):
    return linear(x, weight.to(x.dtype)) * scale


def scaled_before(x, weight, scale):
    return linear(x, weight.to(x.dtype) * scale[:, None])


def microseconds(fn, x, layers):
    """Of one layer."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for layer in layers:
            fn(x, *layer)
    taken = []
    for _ in range(9):
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
times, library, off = {}, {}, []
for fn in (bfloat16, scaled_after, scaled_before):
    layers = wide if fn is bfloat16 else small
    weight, scale = layers[0]
    for rows in ROWS:
        x = torch.randn(1, rows, WIDTH, device="cuda", dtype=torch.bfloat16)
        exact = x.double() @ weight.double().T * (1 if scale is None else scale.double())
        torch._dynamo.reset()
        with tclab.capture() as c:
            compiled = torch.compile(fn, dynamic=False)
            result = compiled(x, *layers[0])
        off.append(((result.double() - exact).norm() / exact.norm()).item())
        for layer in layers:
            compiled(x, *layer)
        torch.cuda.synchronize()
        times[fn, rows] = microseconds(compiled, x, layers)
        library[fn, rows] = any("int8pack" in kernel.kernel_name for kernel in c.kernels)
tclab.show(tclab.Table(
    title="One layer, 8,192 by 8,192", name="layers",
    columns=("weight", *(f"{rows} rows" for rows in ROWS)), units=("", *["µs"] * len(ROWS)),
    formats=("", *[".1f"] * len(ROWS)),
    rows=[(fn.__name__.replace("_", " "), *(times[fn, rows] for rows in ROWS))
          for fn in (bfloat16, scaled_after, scaled_before)],
))  # fmt: skip

# claim: all-are-right
assert max(off) < 2e-2, off
# claim: scaled-after-it-is-the-librarys
assert all(library[scaled_after, rows] for rows in ROWS), library
# claim: scaled-before-it-is-not
assert not any(library[scaled_before, rows] for rows in ROWS), library
# claim: the-librarys-is-many-times-slower-than-bfloat16
assert all(times[scaled_after, rows] > 5 * times[bfloat16, rows] for rows in ROWS), times
# claim: before-is-faster-than-after
assert all(times[scaled_before, rows] < times[scaled_after, rows] / 2 for rows in ROWS), times
