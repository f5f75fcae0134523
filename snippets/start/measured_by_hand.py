"""What `--measure` says of calls on an H200, beside Triton's two timers.

Each call was timed by `tclab explain --measure`, and in a process of its own by
`triton.testing.do_bench`, which pauses between calls, and `do_bench_cudagraph`, which does not.
"""
# tclab: reads=records/h200-torch2.11/measured_*.json

import json
from pathlib import Path

import tclab

here = Path(__file__).resolve().parent
name = "measured_by_hand.json"
places = (here / name, here.parents[1] / "records" / "h200-torch2.11" / name)
place = next(p for p in places if p.exists())
record = json.loads(place.read_text(encoding="utf-8"))
later = json.loads(place.with_name("measured_in_training.json").read_text(encoding="utf-8"))
rows, made = record["rows"] + later["rows"], record["environment"]
assert later["environment"] == made
forward = [row for row in rows if not row["training"]]
trained = {row["name"]: row for row in rows if row["training"]}


def over(row, key):
    return row["default"]["seconds"] / row[key]


# claim: eighteen-calls
assert len(forward) == len({row["name"] for row in forward}) == 18
busy = [row for row in forward if 1 / over(row, "kernels") > 0.96]
in_a_row = {row["name"]: over(row, "do_bench_cudagraph, default") for row in busy}
# claim: ten-are-busy
assert len(busy) == 10 and sum("batch" in name for name in in_a_row) == 2
# claim: all-are-within-three-percent
assert all(abs(ratio - 1) < 0.03 for ratio in in_a_row.values()), in_a_row
paused = {row["name"]: over(row, "do_bench, default") for row in busy}
# claim: after-pauses-all-but-attention
assert {name for name, ratio in paused.items() if abs(ratio - 1) >= 0.03} == {"attention, causal"}
shares = {row["name"]: 1 / over(row, "kernels") for row in busy}
# claim: kernels-add-up-in-nine
assert {name for name, share in shares.items() if abs(share - 1) >= 0.05} == {"layer norm, large"}
assert max(shares.values()) < 1.06
memory = {mode: trained["pointwise, large"][mode]["memory"] for mode in ("eager", "default")}
# claim: nothing-is-kept-compiled
assert memory["eager"]["saved"] > 500 * 2**20 and memory["default"]["saved"] == 0
busy = {name: row for name, row in trained.items() if 1 / over(row, "kernels") > 0.95}
# claim: three-of-ten-are-busy-in-training
assert len(trained) == 10 and len(busy) == 3 and "ResNet-50, batch 192" in busy
# claim: all-three-are-within-three-percent
assert all(abs(over(row, "do_bench, default") - 1) < 0.03 for row in busy.values())
verdicts = {name: row["default"]["verdict"] for name, row in trained.items()}
slower = {n for n, row in trained.items() if row["do_bench, default"] > row["do_bench, eager"]}
# claim: six-verdicts-in-training
assert sum(verdict != "unsteady" for verdict in verdicts.values()) == 6
# claim: do-bench-agrees-with-each
assert all(verdicts[n] in ("unsteady", "slower" if n in slower else "faster") for n in verdicts)
assert {"slower", "faster"} < set(verdicts.values())

keys = ("do_bench_cudagraph, default", "do_bench, default", "kernels")
tclab.show(tclab.Table(
    title="A call, over what Triton's timers and the kernels say", name="ratios",
    columns=("call", "µs", "over do_bench_cudagraph", "over do_bench", "kernels' share"),
    formats=("", ",.1f", ".3f", ".3f", ".0%"),
    caption=f"{made['gpu']}, {made['cpu']}, PyTorch {made['torch']}, {record['recorded']}; "
    "ours, compiled by default. Where the share is low, the GPU waits for the host",
    rows=[(row["name"], 1e6 * row["default"]["seconds"], over(row, keys[0]), over(row, keys[1]),
           1 / over(row, keys[2])) for row in sorted(forward, key=lambda r: over(r, keys[2]))],
))  # fmt: skip
tclab.show(tclab.Table(
    title="A training step, over what do_bench and the kernels say", name="training",
    columns=("call, forward and backward", "eager, µs", "compiled, µs", "over do_bench",
             "kernels' share", "verdict"),
    formats=("", ",.1f", ",.1f", ".3f", ".0%", ""),
    caption=f"{made['gpu']}, {made['cpu']}, PyTorch {made['torch']}, {record['recorded']} and "
    f"{later['recorded']}. Where the share is low, the GPU waits for the host; do_bench clears its "
    "cache before each call",
    rows=[(name, *(1e6 * row[mode]["seconds"] for mode in ("eager", "default")),
           over(row, keys[1]), 1 / over(row, keys[2]), verdicts[name])
          for name, row in sorted(trained.items(), key=lambda r: over(r[1], keys[2]))],
))  # fmt: skip
