"""Two functions timed in five ways on a GPU: what each way told, read from the recording.

The first reads and writes a tensor of 1 GiB, the second one of 24 MiB, which fits into the cache.
"""
# tclab: reads=records/h200*/benchmarks/how_a_timing*/*.json

from _recorded import run_of
from _tables import table

import tclab

told, made = run_of("how_a_timing_lies", "01-timings.json")
timings = told["rows"]
caption = f"{made['gpu']}, PyTorch {made['torch']}, {made['date']}"

functions = ["sigmoid(x) * x + 1, 1 GiB"] * 3 + ["x + 1, 24 MiB"] * 2
ways = ["no wait", "the first call", "warm and waited for", "one tensor", "16 tensors in turn"]
rows = [(f, way, us, rate) for f, way, (_, us, rate) in zip(functions, ways, timings, strict=True)]
columns = {"function": "", "how it was timed": "", "time": "µs .1f", "apparent rate": "TB/s .2f"}
tclab.show(table("Two functions, five times", columns, rows, name="timings", caption=caption))

unwaited, first, right, same, fresh = (us for *_, us, _ in rows)
# claim: without-a-wait-launching-is-measured
assert unwaited < right / 5
# claim: the-first-call-is-the-compiler
assert first > 1000 * right
# claim: the-cache-made-little-difference
assert abs(same / fresh - 1) < 0.05
