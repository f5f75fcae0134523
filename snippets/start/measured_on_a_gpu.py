"""What `--measure` says of calls on an H100, beside other ways of timing them.

Each call was timed by `tclab explain --measure`, and by `triton.testing.do_bench` in a process of
its own. *Kernels* is the GPU's time in a call as `--measure` profiles it, *profile* the same from a
profile of the GPU's events alone.
"""
# tclab: reads=records/h100-torch2.11/does_it_pay.json

import json
from pathlib import Path

import tclab

here = Path(__file__).resolve().parent
name = "does_it_pay.json"
places = (here / name, here.parents[1] / "records" / "h100-torch2.11" / name)
record = json.loads(next(p for p in places if p.exists()).read_text(encoding="utf-8"))
rows, made = record["rows"], record["environment"]


def call(row):
    return row["default"]["seconds"]


def label(row):
    return row["name"] + ", training" * (row["training"] and "training" not in row["name"])


# claim: twelve-functions-and-six-models
assert len({row["name"] for row in rows if not row["training"]}) == 18
# claim: seven-of-them-in-training
assert sum(row["training"] for row in rows) == 7
busy = [row for row in rows if row["kernels"] > 0.95 * call(row)
        and row["default"]["verdict"] != "unsteady"]  # fmt: skip
off = {label(row): call(row) / row["do_bench"] - 1 for row in busy}
# claim: the-gpu-was-busy-in-ten
assert len(busy) == 10
# claim: eight-are-within-two-percent
assert sum(abs(each) < 0.02 for each in off.values()) == 8
# claim: two-are-longer
assert {name for name, each in off.items() if each >= 0.02} == {
    "products, bfloat16", "attention, causal"
} and max(off.values()) < 0.125  # fmt: skip
# claim: the-kernels-times-are-those-of-a-profile
assert all(abs(row["kernels"] / row["busy"] - 1) < 0.05 for row in rows)
waiting = [row for row in rows if row["kernels"] < 0.4 * call(row)]
gains = {label(row): call(row) / row["reduce-overhead"]["seconds"]
         for row in waiting if "reduce-overhead" in row}  # fmt: skip
# claim: it-waits-in-ten
assert len(waiting) == len(gains) == 10
# claim: cuda-graphs-gain-in-seven
assert sum(gain > 1.4 for gain in gains.values()) == 7
# claim: and-lose-in-three
assert sum(gain < 0.6 for gain in gains.values()) == 3
# claim: large-inputs-are-copied
assert all(
    row["reduce-overhead"]["seconds"] > 1.5 * call(row)
    for row in rows if row["name"] in {"pointwise, large", "softmax, large", "swiglu, large"}
    and not row["training"]
)  # fmt: skip

COLUMNS = ("call", "eager", "default", "CUDA graphs", "do_bench", "kernels", "profile", "verdict")
tclab.show(tclab.Table(
    title="Calls on a GPU, timed in several ways", name="calls", columns=COLUMNS,
    units=("", *["µs"] * 6, ""), formats=("", *[",.1f"] * 6, ""),
    caption=f"{made['gpu']}, {made['cpu']}, PyTorch {made['torch']}, {record['recorded']}",
    rows=[(label(row), *(1e6 * row[mode]["seconds"] if mode in row and row[mode]["seconds"]
                         else None for mode in ("eager", "default", "reduce-overhead")),
           *(1e6 * row[key] for key in ("do_bench", "kernels", "busy")), row["default"]["verdict"])
          for row in rows],
))  # fmt: skip
