"""The least cost of a call, computed from shapes, beside what an H100 and an H200 took.

Functions and whole models, forward and training, that were measured after the rule was made. *At
least* is what a report says of a call: the launches on the host, the bytes at the memory's
bandwidth, the products at the GPU's rate. The bound was measured apart: launches where the GPU is
busy for less than 60 % of a call or where CUDA graphs gain a quarter, else what the kernels that
take most of the GPU's time do. A row is open where the quartiles of the call's time disagree on the
launches.
"""
# tclab: reads=records/h100-torch2.11/floors*.json,records/h200-torch2.11/floors*.json

import json
from pathlib import Path

import tclab

here = Path(__file__).resolve().parent
recorded = here.parents[1] / "records"
places = (here, *(recorded / f"{gpu}-torch2.11" for gpu in ("h100", "h200")))


def read(name):
    path = next(place / name for place in places if (place / name).exists())
    return json.loads(path.read_text(encoding="utf-8"))


record, fresh = read("floors.json"), read("floors_fresh.json")
rows = [*record["rows"], *read("floors_held_out.json")["rows"]]
others = fresh["rows"]
again = read("floors_again.json")


def said(row):
    return [row["computed"][key] for key in ("bound", "second_bound") if row["computed"][key]]


def right(rows):
    return [row for row in rows if row["measured_bound"] in said(row)]


MODELS = {"DeiT-S", "ResNeXt-50", "MobileNetV3, one picture", "Swin-T", "OPT",
          "ELECTRA, training step, small"}  # fmt: skip
names = {row["name"] for row in others}

# claim: no-call-took-less
assert len(rows) == 54 + 26 and all(row["computed"]["seconds"] <= row["seconds"] for row in rows)
# claim: twenty-functions-and-six-models
assert len(names) == len(others) == 26 and names > MODELS
# claim: the-rule-was-not-made-with-them
assert not names & {row["name"] for row in rows}
# claim: none-of-these-took-less
assert all(row["computed"]["seconds"] <= row["seconds"] for row in others)
clear = [row for row in others if len(said(row)) == 1]
# claim: one-bound-was-said-of-twenty-one
assert len(clear) == 21
# claim: and-right-in-all-of-them
assert clear == right(clear)
close = [row for row in others if row not in clear]
# claim: of-five-two-were-said
assert len(close) == 5 and all(len(said(row)) == 2 for row in close)
# claim: one-of-the-two-was-right-in-four
assert len(right(close)) == 4
# claim: wrong-was-one
assert {row["name"] for row in others} - {row["name"] for row in right(others)} == {"ResNeXt-50"}
# claim: an-h200-ran-the-same-calls
assert again["environment"]["gpu"] == "NVIDIA H200" and {e["name"] for e in again["rows"]} == names
# claim: none-took-less-on-an-h200
assert all(row["computed"]["seconds"] <= row["seconds"] for row in again["rows"])
# claim: right-in-twenty-three-on-an-h200
assert len(right(again["rows"])) == 23


def is_open(row):
    calls = (row["seconds"], *row["quartiles"])
    return len({row["busy"] < 0.6 * c or c > 1.25 * row["graphs_seconds"] for c in calls}) > 1


sure = [row for row in again["rows"] if not is_open(row)]
# claim: three-are-open-on-an-h200
assert len(again["rows"]) - len(sure) == 3
# claim: right-in-twenty-one-of-the-others
assert len(right(sure)) == 21 and len(sure) == 23
# claim: a-call-can-take-much-longer
assert max(row["seconds"] / row["computed"]["seconds"] for row in [*rows, *others]) > 10

COLUMNS = ("call", "at least", "launches", "bytes", "products", "took", "GPU busy", "bound",
           "measured bound")  # fmt: skip


def show(record, name, title):
    made = record["environment"]
    caption = f"{made['gpu']}, {made['cpu']}, PyTorch {made['torch']}, {record['recorded']}"
    tclab.show(tclab.Table(
        title=title, name=name, columns=COLUMNS,
        units=("", *["µs"] * 6, "", ""), formats=("", *[",.0f"] * 6, "", ""), caption=caption,
        rows=[(row["name"],
               *(1e6 * row["computed"][e] for e in ("seconds", "launches", "memory", "products")),
               1e6 * row["seconds"], 1e6 * row["busy"], " or ".join(said(row)),
               row["measured_bound"]) for row in record["rows"]],
    ))  # fmt: skip


show(fresh, "calls", "The least cost of a call, and what it took")
show(again, "again", "The same calls on an H200")
