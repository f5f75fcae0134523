"""Eager, compiled, with CUDA graphs, autotuned: batch sizes 1 to 4096.

One model, four ways to run it, five batch sizes. Below a few hundred rows the GPU waits for
Python, or for the weights; above, for the matrix units. Every output is compared with float64
before anything is timed. Each compile starts with an empty cache, so its seconds are cold ones.
"""
# tclab: needs=cuda alone=true timeout=600 memory=32768

import torch
from _blocks import in_float64, matmul_flops, stack, weight_bytes
from _tables import break_even, table
from _timing import copy_bandwidth, error, first_call, microseconds
from torch._inductor.utils import fresh_cache

import tclab

DIM, BATCHES = 1024, (1, 8, 64, 512, 4096)
MODES = ("default", "reduce-overhead", "max-autotune")
model = stack(layers=8, dim=DIM, hidden=4 * DIM).to("cuda", torch.bfloat16).eval()
exact_model, weights, copy = in_float64(model), weight_bytes(model), copy_bandwidth()
# The weights do not fit in the L2 cache, so each forward fetches them from memory, as a model does.
assert weights > 2 * torch.cuda.get_device_properties(0).L2_cache_size

torch.compile(torch.sin)(torch.rand(8, device="cuda"))  # starts the compiler's workers, untimed
times, compiles, rows = {m: [] for m in ("eager", *MODES)}, [], []
for batch in BATCHES:
    inputs = [(torch.randn(batch, DIM, device="cuda", dtype=torch.bfloat16),) for _ in range(4)]
    with torch.no_grad():
        exact = exact_model(inputs[0][0].double())
        wrong = [error(model(*inputs[0]), exact)]
        times["eager"].append(eager := microseconds(model, inputs))
        for mode in MODES:
            torch.compiler.reset()
            compiled = torch.compile(model, mode=mode, dynamic=False)
            with fresh_cache():
                seconds = first_call(compiled, *inputs[0])[1]
                for _ in range(3):  # CUDA graphs: a warm-up, a recording, then replays
                    wrong.append(error(compiled(*inputs[0]).clone(), exact))
            times[mode].append(us := microseconds(compiled, inputs))
            paid = break_even(seconds, eager, us)
            compiles.append((batch, mode, seconds, us, eager / us, paid))
    assert all(w < min(2e-2, 1.5 * wrong[0] + 1e-3) for w in wrong), wrong
    fastest = min(t[-1] for t in times.values())
    moved = weights + 2 * inputs[0][0].nbytes  # weights and input once, output once
    rate, flops = moved / fastest * 1e6, matmul_flops(model, batch) / fastest * 1e6
    each = [t[-1] for t in times.values()]
    rows.append((batch, *each, max(wrong), 100 * rate / copy, flops / 1e12))

assert times["reduce-overhead"][0] < times["eager"][0], "CUDA graphs did not help at batch 1"
us = dict.fromkeys(times, "µs .0f")
tclab.show(
    table(
        "Time of one forward",
        {"batch": "", **us, "worst error": " .1e", "of a copy": "% .0f", "best": "TFLOP/s .1f"},
        rows,
        caption=f"{weights / 1e6:.0f} MB of bfloat16 weights; copy: {copy / 1e12:.2f} TB/s",
    )
)
axes = {"x_label": "batch size (rows)", "y_label": "µs for one forward"}
tclab.show(
    tclab.Chart("Time over batch size", x=BATCHES, series=times, log_x=True, log_y=True, **axes)
)
how = {"batch": "", "mode": "", "first call": "s .1f", "later calls": "µs .0f"}
how |= {"speed-up": "× .2f", "calls to break even": " ,d"}
tclab.show(table("What the compile costs, and when it is paid back", how, compiles))
ratio = [times["eager"][i] / min(t[i] for t in times.values()) for i in (0, -1)]
tclab.show(
    f"The fastest way is {ratio[0]:.2f} times as fast as eager at batch {BATCHES[0]} and "
    f"{ratio[1]:.2f} times at batch {BATCHES[-1]}.",
    name="summary",
)
