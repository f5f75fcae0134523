"""PyTorch's own operator database, compiled for two GPUs without them, and on each.

PyTorch ships a list of its operators with sample arguments, with which it tests itself. Each sample
in up to five data types, forward and backward where there is one, was compiled for the target by a
process that sees no GPU, and by plain `torch.compile` on the GPU; then the kernels were compared.
"""
# tclab: reads=records/h?00-torch2.11/operator_database.json

import json
from collections import Counter
from pathlib import Path

import tclab

records = Path(__file__).resolve().parents[2] / "records"
read = {gpu: json.loads((records / f"{gpu}-torch2.11" / "operator_database.json").read_text())
        for gpu in ("h100", "h200")}  # fmt: skip
KERNELS = ("identical", "open", "different", "refused")

for gpu, record in read.items():
    operators, made = record["operators"], record["environment"]
    samples = sum((Counter(row["verdicts"]) for row in operators), Counter())
    kernels = {each: sum(row[each] for row in operators) for each in ("kernels", *KERNELS)}
    # claim: seven-thousand-samples
    assert sum(samples.values()) == sum(row["samples"] for row in operators) > 7000
    # claim: none-is-different
    assert kernels["different"] == 0 and "different" not in samples
    # claim: ninety-eight-in-a-hundred-are-identical
    assert kernels["identical"] > 0.98 * kernels["kernels"]
    # claim: at-most-three-in-two-hundred-are-open
    assert 0 < kernels["open"] <= 0.015 * kernels["kernels"]
    # claim: the-rest-is-refused
    assert kernels["identical"] + kernels["open"] + kernels["refused"] == kernels["kernels"]
    assert kernels["refused"] < 0.002 * kernels["kernels"]
    raised = [row["why"] for row in operators if "gpu refused" in row["verdicts"]]
    # claim: gpu-refused-fails-in-eager-too
    assert raised and all(why.startswith("it raises without torch.compile") for why in raised)
    left = [row for row in operators if {"open", "refused"} & set(row["verdicts"])]
    # claim: what-is-open-or-refused-has-its-reason
    assert left and all(row["why"] for row in left)

    versions = f"PyTorch {made['torch']}, Triton {made['triton']}"
    caption = f"{made['gpu']}, {versions}, {record['recorded']}"
    tclab.show(tclab.Table(
        title=f"Samples and kernels of the operator database, {gpu.upper()}", name=f"totals-{gpu}",
        columns=("verdict", "samples", "kernels"), caption=caption,
        rows=[*((each, samples.pop(each, 0), kernels[each]) for each in KERNELS),
              *((each, number, None) for each, number in samples.most_common()),
              ("all", sum(row["samples"] for row in operators), kernels["kernels"])],
    ))  # fmt: skip
    if gpu == "h200":
        tclab.show(tclab.Table(
            title="Operators with open or refused kernels", name="operators",
            columns=("operator", "samples", "kernels", *KERNELS, "why"), caption=caption,
            rows=[(row["operator"], row["samples"], row["kernels"],
                   *(row[each] for each in KERNELS), row["why"]) for row in left],
        ))  # fmt: skip
h100, h200 = ({row["operator"]: row for row in record["operators"]} for record in read.values())
assert h100.keys() == h200.keys()
# claim: the-two-gpus-agree-but-for-one-operator
assert [name for name in h100 if h100[name] != h200[name]] == ["linalg_cond"]
